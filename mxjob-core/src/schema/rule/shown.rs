//! Edits of templates where the job's port is shown. A manifest that says nothing of it takes it away
//! when it is applied once more, and gets it again on its way into storage: that is no edit.
//!
//! CEL cannot compare two objects but for a field of them. So the fields are named, all that the
//! schema has; values stand in lists because the API server takes a list for as dear to compare as
//! it is long, and what is optional for as dear as can be.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::cel;
use crate::role::RoleTable;
use crate::schema::place::{TEMPLATE, edit};

/// Fields of a pod template but for those that are looked into.
#[derive(Clone, Debug)]
pub(in crate::schema) struct Fields {
    template: Vec<String>,
    spec: Vec<String>,
    container: Vec<String>,
}

impl Fields {
    /// Those of `root`, the schema of the whole object.
    pub(in crate::schema) fn of(root: &mut JSONSchemaProps) -> Self {
        let mut all_but = |path: &str, left_out: &str| {
            let mut names = Vec::new();
            edit(root, &format!("{TEMPLATE}{path}"), &mut |node| {
                let fields = node.properties.iter().flatten().map(|(name, _)| name);
                names.extend(fields.filter(|name| *name != left_out).cloned());
            });
            names
        };
        Self {
            template: all_but("", "spec"),
            spec: all_but(".spec", "containers"),
            container: all_but(".spec.containers.[]", "ports"),
        }
    }

    /// The templates at `new[k]` and `old[k]` are the same but for the port that is shown.
    pub(super) fn alike(&self, table: &RoleTable, new: &str, old: &str) -> String {
        let template = |map: &str| format!("{map}[k].template");
        let there = |map: &str| {
            let template = template(map);
            format!("has({template}) && has({template}.spec) && has({template}.spec.containers)")
        };
        let same = |list: &dyn Fn(&str) -> String, value: &str| {
            let [new, old] = [new, old].map(|map| list(&template(map)));
            format!("{new}.map(x, {value}) == {old}.map(x, {value})")
        };
        let of_container = format!("[dyn(x)].map(x, {})", values(&self.container));
        let ports = format!("has(x.ports) ? x.ports.filter(p, !({})) : []", shown(table));
        let containers = |template: &str| format!("{template}.spec.containers");
        let conditions = [
            format!("k in {new}"),
            there(new),
            there(old),
            same(
                &|template| format!("[dyn({template})]"),
                &values(&self.template),
            ),
            same(
                &|template| format!("[dyn({template}.spec)]"),
                &values(&self.spec),
            ),
            same(&containers, &of_container),
            same(&containers, &ports),
        ];
        format!("({})", conditions.join(" && "))
    }
}

fn values(fields: &[String]) -> String {
    let value = |field: &String| format!("x.?{field}");
    let values: Vec<_> = fields.iter().map(value).collect();
    format!("[{}]", values.join(","))
}

/// `p`, a port of the container `x` of the role `k`, is the job's as it is shown where there is none.
fn shown(table: &RoleTable) -> String {
    let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for role in table.roles {
        let port = role.port.unwrap_or(table.port);
        let container = role.container.unwrap_or(table.container);
        let place = (container, port.name, port.number);
        places.entry(place).or_default().push(role.name);
    }
    let is_only = places.len() == 1;
    let place = |((container, name, number), roles): (_, Vec<&'static str>)| {
        let of = cel::is_one_of("k", roles);
        let of = if is_only {
            String::new()
        } else {
            format!("{of} && ")
        };
        let (container, name) = (cel::text(container), cel::text(name));
        format!("{of}x.name == {container} && p.name == {name} && p.containerPort == {number}")
    };
    let places: Vec<_> = places.into_iter().map(place).collect();
    let bare = ["hostPort", "hostIP", "protocol"].map(|field| format!("!has(p.{field})"));
    format!(
        "has(x.name) && has(p.name) && ({}) && {}",
        places.join(" || "),
        bare.join(" && ")
    )
}
