//! The job's port and its container, in templates of any shape.

use serde_json::{Value, json};

use crate::role::{Port, RoleId, RoleTable};

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
        match ports.iter_mut().find(|one| self.is_named(one)) {
            Some(Value::Object(named)) => {
                named.insert("containerPort".to_owned(), number.into());
            }
            _ => self.listen(ports, number),
        }
    }

    /// A port of that number serves, unless it has a name that only the default number may have.
    fn listen(&self, ports: &mut Vec<Value>, number: i64) {
        let same = ports
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .find(|one| {
                let protocol = one.get("protocol").filter(|protocol| !protocol.is_null());
                one.get("containerPort").and_then(Value::as_i64) == Some(number)
                    && protocol.is_none_or(|protocol| protocol == "TCP")
            });
        let name = self.port.name;
        match same {
            Some(same) => {
                let unnamed = same.get("name").is_none_or(Value::is_null);
                if unnamed || number != i64::from(self.port.number) {
                    same.insert("name".to_owned(), name.into());
                }
            }
            None => ports.push(json!({"name": name, "containerPort": number})),
        }
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
