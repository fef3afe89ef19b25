//! Pod templates.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{fields, sometimes, word};

pub(crate) fn template() -> BoxedStrategy<Value> {
    let containers = prop_oneof![
        6 => container("mxnet").prop_map(|one| vec![one]),
        4 => (container("mxnet"), container("side")).prop_map(|(one, other)| vec![one, other]),
        1 => container("side").prop_map(|one| vec![one]),
        1 => (container("mxnet"), container("mxnet")).prop_map(|(one, other)| vec![one, other]),
    ];
    let meta = sometimes(Just(json!({"labels": {"a": "b"}})));
    let restart = word(&["OnFailure", "Never"]);
    let scheduler = word(&["other", "volcano"]);
    (containers, meta, restart, scheduler)
        .prop_map(|(containers, meta, restart, scheduler)| {
            let spec = fields([
                ("containers", Some(json!(containers))),
                ("restartPolicy", restart),
                ("schedulerName", scheduler),
            ]);
            fields([("metadata", meta), ("spec", Some(spec))])
        })
        .boxed()
}

fn container(name: &'static str) -> BoxedStrategy<Value> {
    let port = (
        select(vec![80, 9091, 9000]),
        word(&["mxjob-port", "web"]),
        word(&["TCP", "UDP"]),
    )
        .prop_map(|(number, name, protocol)| {
            fields([
                ("containerPort", Some(json!(number))),
                ("name", name),
                ("protocol", protocol),
            ])
        });
    let env = Just(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
    let image = prop_oneof![
        8 => Just(Some(json!("some/image"))),
        1 => Just(Some(json!(""))),
        2 => Just(None),
    ];
    (
        image,
        sometimes(vec(port, 0..3).prop_map(Value::from)),
        sometimes(env),
    )
        .prop_map(move |(image, ports, env)| {
            fields([
                ("name", Some(json!(name))),
                ("image", image),
                ("ports", ports),
                ("env", env),
            ])
        })
        .boxed()
}
