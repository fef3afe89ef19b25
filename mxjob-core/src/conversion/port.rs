//! The job's port and its container, in templates of any shape.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::held::Held;
use super::sections::{LISTED, ROLES, SPEC};
use crate::api::Version;
use crate::role::{Port, RoleId, RoleTable};
use crate::schema::PORTS;

/// Numbers of the jobs' ports that v1 cannot say: a container has a port of that number under another name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports(BTreeMap<RoleId, u16>);

impl Ports {
    /// Of a v1 object, as far as its `v1alpha1` form shows them.
    pub fn of(table: &RoleTable, object: &Value) -> Self {
        let Some((form, held)) = table.list_form().zip(Held::read(object)) else {
            return Self::default();
        };
        let roles = object
            .get(SPEC)
            .and_then(|spec| spec.get(ROLES)?.as_object());
        let port = |(name, was, is): (&str, &Value, &Value)| {
            let role = table.find(name)?;
            let mut entries = roles?.iter();
            let (_, entry) = entries.find(|(key, _)| table.find(key) == Some(role))?;
            let number = Place::of(table, role).number(entry.get("template")?);
            // Somebody has changed it at v1 since.
            let holds = was.as_i64() == Some(number);
            let is = u16::try_from(is.as_u64().filter(|is| holds && *is > 0)?);
            Some((role, is.ok()?))
        };
        let leaves = held.leaves(Version::V1Alpha1);
        let fields = leaves
            .iter()
            .filter_map(|leaf| leaf.field(LISTED, form.legacy.port_field));
        Self(fields.filter_map(port).collect())
    }

    /// The number of the job's port of a role, whatever the ports of its container are called.
    pub(crate) fn given(&self, id: RoleId) -> Option<u16> {
        self.0.get(&id).copied()
    }

    /// The job's port of a role, where its container names none.
    pub(crate) fn port(&self, table: &RoleTable, id: RoleId) -> Port {
        let port = table.role(id).port.unwrap_or(table.port);
        let number = self.given(id).unwrap_or(port.number);
        Port { number, ..port }
    }
}

/// Where a role's work runs and listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    container: &'static str,
    port: Port,
}

impl Place {
    pub(super) fn of(table: &RoleTable, role: RoleId) -> Self {
        let role = table.role(role);
        Self {
            container: role.container.unwrap_or(table.container),
            port: role.port.unwrap_or(table.port),
        }
    }

    /// The container that the work runs in.
    pub(super) fn container<'a>(&self, template: &'a mut Value) -> Option<&'a mut Value> {
        let containers = template.pointer_mut("/spec/containers")?.as_array_mut()?;
        containers
            .iter_mut()
            .find(|one| one.get("name").and_then(Value::as_str) == Some(self.container))
    }

    /// The number of the job's port, as a job at v1 has it.
    pub(super) fn number(&self, template: &Value) -> i64 {
        let containers = template
            .pointer("/spec/containers")
            .and_then(Value::as_array);
        let container = containers
            .into_iter()
            .flatten()
            .find(|one| one.get("name").and_then(Value::as_str) == Some(self.container));
        let ports = container.and_then(|one| one.get("ports")?.as_array());
        let named = ports.into_iter().flatten().find(|one| self.is_named(one));
        named
            .and_then(|one| one.get("containerPort")?.as_i64())
            .filter(|number| u16::try_from(*number).is_ok())
            .unwrap_or_else(|| self.port.number.into())
    }

    /// Makes `number` the number of the job's port.
    pub(super) fn set(&self, template: &mut Value, number: i64) {
        let Some(ports) = self.ports(template) else {
            return;
        };
        // Two of one number no container may have.
        let is_there = ports.iter().any(|one| serves(one, number));
        match ports.iter_mut().find(|one| self.is_named(one)) {
            Some(Value::Object(named)) if !is_there => {
                named.insert("containerPort".to_owned(), number.into());
            }
            Some(_) => {}
            None => self.listen(ports, number),
        }
    }

    /// Shows the job's port where its container has none of that name and none that serves as it, as
    /// long as there is room.
    pub(super) fn show(&self, template: &mut Value) {
        let number = self.port.number.into();
        let Some(ports) = self.ports(template) else {
            return;
        };
        let is_there = |one: &Value| self.is_named(one) || serves(one, number);
        if ports.len() < usize::from(PORTS) && !ports.iter().any(is_there) {
            ports.push(self.item(number));
        }
    }

    /// A port of that number serves, under whatever name its user has given it: probes and others may ask
    /// for it by that name.
    fn listen(&self, ports: &mut Vec<Value>, number: i64) {
        let same = ports.iter_mut().find(|one| serves(one, number));
        let name = self.port.name;
        match same.and_then(Value::as_object_mut) {
            Some(same) => {
                if same.get("name").is_none_or(Value::is_null) {
                    same.insert("name".to_owned(), name.into());
                }
            }
            None => ports.push(self.item(number)),
        }
    }

    fn item(&self, number: i64) -> Value {
        json!({"name": self.port.name, "containerPort": number})
    }

    fn ports<'a>(&self, template: &'a mut Value) -> Option<&'a mut Vec<Value>> {
        let container = self.container(template)?.as_object_mut()?;
        let ports = container.entry("ports").or_insert(Value::Null);
        if ports.is_null() {
            *ports = Value::Array(Vec::new());
        }
        ports.as_array_mut()
    }

    fn is_named(&self, port: &Value) -> bool {
        port.get("name").and_then(Value::as_str) == Some(self.port.name)
    }
}

/// Whether a port of a container is of that number.
fn serves(port: &Value, number: i64) -> bool {
    let protocol = port.get("protocol").filter(|protocol| !protocol.is_null());
    port.get("containerPort").and_then(Value::as_i64) == Some(number)
        && protocol.is_none_or(|protocol| protocol == "TCP")
}
