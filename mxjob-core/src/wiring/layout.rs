//! The job's layout as JSON, for the variable that the role set names (`MX_CONFIG`).

use std::collections::BTreeMap;

use serde::Serialize;

use super::Wiring;
use crate::job::{Replica, RoleSpec};

#[derive(Serialize)]
struct Endpoint {
    url: String,
    port: u16,
}

#[derive(Serialize)]
struct Task<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    index: u32,
}

/// What the layouts of all replicas share, as rendered JSON.
#[derive(Debug)]
pub(super) struct Layout {
    shared: String,
}

impl Layout {
    pub(super) fn of(wiring: &Wiring<'_>) -> Self {
        let roles = &wiring.spec.roles;
        let endpoint = |role: &RoleSpec, replica: Replica| Endpoint {
            url: wiring.host(replica),
            port: wiring.port(role, replica),
        };
        let cluster: BTreeMap<_, Vec<_>> = roles
            .iter()
            .map(|role| {
                (
                    lower(role),
                    role.replicas()
                        .map(|replica| endpoint(role, replica))
                        .collect(),
                )
            })
            .collect();
        let labels: BTreeMap<_, _> = roles
            .iter()
            .map(|role| {
                (
                    lower(role),
                    if role.role.label {
                        role.label.as_str()
                    } else {
                        ""
                    },
                )
            })
            .collect();
        Self {
            shared: format!(
                r#"{{"cluster":{},"labels":{}"#,
                json(&cluster),
                json(&labels)
            ),
        }
    }

    pub(super) fn render(&self, role: &RoleSpec, replica: Replica) -> String {
        let task = Task {
            kind: &lower(role),
            index: replica.index,
        };
        format!(r#"{},"task":{}}}"#, self.shared, json(&task))
    }
}

fn lower(role: &RoleSpec) -> String {
    role.role.name.to_ascii_lowercase()
}

/// Maps with text keys, texts and numbers always render.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
