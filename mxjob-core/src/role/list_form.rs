//! How v1alpha1 speaks of a set's roles.

use super::{Children, Legacy, RoleId, RoleTable};

/// [`Legacy`] for a set that has the roles it names, so that v1alpha1 can be served.
#[derive(Clone, Copy, Debug)]
pub struct ListForm {
    /// What was declared.
    pub legacy: &'static Legacy,
    /// The role of an entry that names none.
    pub entry: RoleId,
    /// The chief of a local job.
    pub worker: RoleId,
    /// The chief of a job that names none.
    pub chief: RoleId,
}

impl ListForm {
    /// The resource has that field of a spec.
    pub fn has(&self, field: &str) -> bool {
        !self.legacy.absent.contains(&field)
    }

    /// The resource has that field of a status.
    pub fn shows(&self, field: &str) -> bool {
        !self.legacy.absent_status.contains(&field)
    }
}

impl RoleTable {
    /// What each replica of a job is as it is stored.
    pub fn children(&self) -> Children {
        let form = self.list_form().filter(|_| self.crd.alone.is_some());
        form.map_or(Children::Pods, |form| form.legacy.children)
    }

    /// The label that an older operator's pods and services have and nobody else's of that time;
    /// `None`: there was no such operator, or it made no pods itself.
    pub fn mark(&self) -> Option<&'static str> {
        let form = self.list_form()?;
        let is_it = form.legacy.children == Children::Pods;
        form.legacy.mark().filter(|_| is_it)
    }

    /// How v1alpha1 speaks of the set's roles; `None`: it has none of that version.
    pub fn list_form(&self) -> Option<ListForm> {
        let legacy = self.crd.legacy?;
        self.mode(legacy.mode)?;
        Some(ListForm {
            legacy,
            entry: self.find(legacy.entry)?,
            worker: self.find(legacy.worker)?,
            chief: self.find(legacy.chief)?,
        })
    }

    /// The roles that a v1alpha1 entry can have, in the order of declaration.
    pub fn listed_roles(&self) -> impl Iterator<Item = RoleId> {
        let mode = self.crd.legacy.map_or("", |legacy| legacy.mode);
        self.roles_of(mode)
    }
}
