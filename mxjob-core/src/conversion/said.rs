//! What a stored job says that v1 has no words for, and that its pods depend on.

use serde_json::{Map, Value};

use super::held::Held;
use super::rest::apply;
use super::sections::{LISTED, ROLES, SPEC, Sections};
use super::{runtime_id, v1alpha1};
use crate::api::Version;
use crate::role::{ListForm, RoleTable};

/// The words of a job that was made at v1alpha1.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) form: ListForm,
    spec: Map<String, Value>,
    /// Who decides where nobody is named.
    chief: &'static str,
    uid: String,
}

impl Said {
    /// Of a v1 object; `None`: it was made at another version.
    pub(crate) fn of(table: &RoleTable, object: &Value) -> Option<Self> {
        let form = table.list_form()?;
        let metadata = object.get("metadata")?;
        let held = Held::read(object)?;
        if held.origin != Version::V1Alpha1 {
            return None;
        }
        // Defaults follow from which roles there are.
        let roles = object
            .get(SPEC)
            .and_then(|spec| spec.get(ROLES)?.as_object());
        let listed = table.listed_roles().filter(|role| {
            let mut keys = roles.into_iter().flat_map(Map::keys);
            keys.any(|key| table.find(key) == Some(*role))
        });
        let listed = listed.map(|role| {
            let entry = Value::Object(Map::new());
            (table.role(role).name.to_owned(), entry)
        });
        let mut content = Sections::from_iter([
            (SPEC.to_owned(), Value::Object(Map::new())),
            (LISTED.to_owned(), Value::Object(listed.collect())),
        ]);
        v1alpha1::fill(table, &form, &mut content);
        let leaves = held.leaves(Version::V1Alpha1);
        apply(
            leaves.into_iter().filter(|leaf| leaf.section() == SPEC),
            &mut content,
        );
        let chief = v1alpha1::chief(table, &form, &content);
        let spec = match content.shift_remove(SPEC) {
            Some(Value::Object(spec)) => spec,
            _ => Map::new(),
        };
        let uid = metadata.get("uid").and_then(Value::as_str);
        Some(Self {
            form,
            spec,
            chief: table.role(chief).name,
            uid: uid.unwrap_or_default().to_owned(),
        })
    }

    /// The user's own runtime id, or the one that follows from the uid; `None`: there is no uid yet.
    pub(crate) fn runtime_id(&self) -> Option<Value> {
        let own = runtime_id::given(self.spec.get(runtime_id::KEY)).cloned();
        own.or_else(|| (!self.uid.is_empty()).then(|| runtime_id::of(&self.uid).into()))
    }

    /// Role and index of the replica that decides; `None`: nobody is named.
    pub(crate) fn chief(&self) -> Option<(&str, i64)> {
        if !self.form.has(v1alpha1::POLICY) {
            return Some((self.chief, 0));
        }
        let chief = self.spec.get(v1alpha1::POLICY)?.get("chief")?;
        let index = chief.get("replicaIndex").and_then(Value::as_i64);
        Some((chief.get("replicaName")?.as_str()?, index.unwrap_or(0)))
    }
}
