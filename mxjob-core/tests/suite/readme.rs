//! The README's table of roles is what the role table says.

use mxjob_core::role::Role;
use mxjob_core::{MxRole, ReplicaRole};

fn replicas(role: &Role) -> String {
    match role.max {
        Some(max) if max == role.min => max.to_string(),
        Some(max) => format!("{} to {max}", role.min),
        None => format!("{} or more", role.min),
    }
}

fn row(role: &Role) -> String {
    let needed = if role.optional { "" } else { ", needed" };
    let cells = [
        role.mode,
        role.name,
        &format!("{}{needed}", replicas(role)),
        role.doc,
    ];
    format!("| {} |\n", cells.join(" | "))
}

#[test]
fn shows_every_role() {
    let rows: String = MxRole::TABLE.roles.iter().map(row).collect();
    let table = format!("| mode | role | replicas | |\n|---|---|---|---|\n{rows}");
    let readme = std::fs::read_to_string("../README.md").unwrap();
    assert!(
        readme.contains(&table),
        "write this into README.md:\n{table}"
    );
}
