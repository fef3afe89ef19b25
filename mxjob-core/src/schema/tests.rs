use super::*;
use crate::{MxRole, ReplicaRole};

#[test]
fn dump() {
    let crd = crd(MxRole::TABLE);
    let json = serde_json::to_string(&crd).unwrap();
    println!("{}", json.len());
    std::fs::write("/tmp/crd.json", &json).unwrap();
    for (name, text) in crds::<MxRole>() {
        std::fs::write(format!("/tmp/{name}"), text).unwrap();
    }
}
