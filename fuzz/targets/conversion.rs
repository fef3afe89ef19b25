//! An object of any shape goes from its version to each other one; one that can be stored comes back as
//! it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mxjob_core::api::Version;
use mxjob_core::check;
use mxjob_core::conversion::convert;
use mxjob_core::{MxRole, ReplicaRole as _};
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let Ok(Value::Object(mut object)) = serde_saphyr::from_str(text) else {
        return;
    };
    let table = MxRole::TABLE;
    object.insert("kind".to_owned(), json!(table.crd.kind));
    for from in Version::ALL {
        object.insert("apiVersion".to_owned(), json!(from.full(table)));
        let object = Value::Object(object.clone());
        // The API server takes out what the schema does not have.
        let is_stored =
            from == Version::stored(table) && check::structure(table, &object).is_empty();
        for to in Version::ALL {
            let there = convert(table, object.clone(), to).expect("it is of the resource");
            assert_eq!(there["apiVersion"], to.full(table));
            let back = convert(table, there, from).expect("it is of the resource");
            if is_stored {
                assert_eq!(back["spec"], object["spec"], "by {to}");
                assert_eq!(back["status"], object["status"], "by {to}");
            }
        }
    }
});
