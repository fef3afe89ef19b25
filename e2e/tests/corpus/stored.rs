//! What the API server made of an object.

use mxjob_core::{Job, MxRole, ReplicaRole as _, check};
use serde_json::Value;

use super::without_nulls;

/// Where what was stored is not what was sent. No default is written into it, and just those fields
/// are gone that are warned about and those that are null.
pub(crate) fn unlike(sent: &Value, stored: &Value) -> Vec<String> {
    let mut dropped = Vec::new();
    let spec = check::Path::ROOT.key("spec");
    let mut wrong = Vec::new();
    compare(
        &sent["spec"],
        &stored["spec"],
        spec,
        &mut dropped,
        &mut wrong,
    );
    let warned = check::structure(MxRole::TABLE, sent);
    let mut warned: Vec<_> = warned.into_iter().map(|problem| problem.path).collect();
    warned.sort();
    dropped.sort();
    if dropped != warned {
        wrong.push(format!("dropped {dropped:?}, warned about {warned:?}"));
    }
    let mut named = without_nulls(sent);
    named["metadata"] = stored["metadata"].clone();
    let read = |object: &Value| format!("{:?}", Job::read(MxRole::TABLE, object).spec);
    if read(&named) != read(stored) {
        wrong.push("the defaults differ".to_owned());
    }
    wrong
}

fn compare(
    sent: &Value,
    stored: &Value,
    path: check::Path<'_>,
    dropped: &mut Vec<String>,
    wrong: &mut Vec<String>,
) {
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => {
            let added = stored.keys().filter(|key| !sent.contains_key(*key));
            wrong.extend(added.map(|key| format!("{} was added", path.key(key))));
            for (key, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                match stored.get(key) {
                    Some(kept) => compare(value, kept, path.key(key), dropped, wrong),
                    None => dropped.push(path.key(key).to_string()),
                }
            }
        }
        (Value::Array(sent), Value::Array(stored)) if sent.len() == stored.len() => {
            for (at, (one, other)) in sent.iter().zip(stored).enumerate() {
                compare(one, other, path.item(at), dropped, wrong);
            }
        }
        (sent, stored) if sent == stored => {}
        (sent, stored) => wrong.push(format!("{path}: {sent} became {stored}")),
    }
}
