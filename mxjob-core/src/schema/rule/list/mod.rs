//! The rules of `v1alpha1`, whose roles are entries of a list, in the words of its first operator.
//! Each has its two renderings side by side, as [`Rule`](super::Rule) has.

mod edit;
mod entry;
mod job;
mod mode;
mod words;

pub(crate) use words::{ID_LETTERS, NO_CHIEF, can_stand_in_names, missing_chief, missing_replica};

use super::{Validation, name};
use crate::api::v1alpha1::JobSpec;
use crate::problem::Problem;
use crate::role::{Children, JobMode, ListForm, RoleId, RoleTable};

/// Field of a spec that says whether a job has a scheduler.
const MODE: &str = "jobMode";

/// A rule about a list of roles.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ListRule {
    /// The object has a spec.
    Spec,
    /// The job's name is a DNS-1035 label.
    Name,
    /// An entry is of a role that there is.
    Role(ListForm),
    /// An entry's pod has the container that the work runs in.
    Container(ListForm),
    /// A container has an image, or is the one that `mxImage` is for.
    Image(ListForm),
    /// No role has two entries.
    Once(ListForm),
    /// A role has as many replicas as was declared.
    Replicas(ListForm, RoleId),
    /// The roles that a role requires have replicas when it has.
    Requires(ListForm, RoleId, RoleId),
    /// A local job is one worker at most.
    Local(ListForm),
    /// A job says its mode.
    Mode(ListForm),
    /// The mode stays what it is.
    ModeStays,
    /// A job with servers has an entry of the role.
    ModeRole(ListForm, RoleId),
    /// A local job has only workers.
    ModeAlone(ListForm),
    /// A local job has no second worker.
    ModeOne(ListForm),
    /// A local job has a worker.
    ModeWorker(ListForm),
    /// A termination policy names a chief.
    Policy,
    /// The chief is there.
    Chief(ListForm),
    /// The runtime id stays what it is, unless it is left out.
    RuntimeId,
    /// A replica that is a Job ends.
    Ends,
    /// A runtime id can stand in names.
    RuntimeIdForm,
    /// The longest pod name fits in a DNS label.
    PodNames(ListForm),
    /// Templates stay what they were while pods may run.
    Templates(ListForm),
}

/// What is judged: a job, and when it is an edit, what it was before.
#[derive(Clone, Copy, Debug)]
pub struct ListSubject<'a> {
    /// The job's name.
    pub name: &'a str,
    /// Its spec.
    pub spec: &'a JobSpec,
    /// What its spec was, and whether it had ended; `None`: it is being created.
    pub old: Option<(&'a JobSpec, bool)>,
}

impl ListRule {
    /// The rules of a role set; none: it has no list form.
    pub fn of(table: &'static RoleTable) -> Vec<Self> {
        let Some(form) = table.list_form() else {
            return Vec::new();
        };
        let mut rules = vec![
            Self::Spec,
            Self::Role(form),
            Self::Once(form),
            Self::RuntimeId,
            Self::RuntimeIdForm,
        ];
        for id in table.listed_roles() {
            let role = table.role(id);
            if role.min > 0 || role.max.is_some() {
                rules.push(Self::Replicas(form, id));
            }
            match form.legacy.job_mode {
                JobMode::Guessed => {
                    let required = role.requires.iter().filter_map(|name| table.find(name));
                    rules.extend(required.map(|other| Self::Requires(form, id, other)));
                }
                JobMode::Needed => rules.push(Self::ModeRole(form, id)),
            }
        }
        match form.legacy.job_mode {
            JobMode::Guessed => {
                rules.extend(form.has(MODE).then_some(Self::Local(form)));
                rules.extend([Self::Policy, Self::Chief(form)]);
            }
            // Says who decides as well.
            JobMode::Needed => rules.extend([
                Self::Mode(form),
                Self::ModeStays,
                Self::ModeAlone(form),
                Self::ModeOne(form),
                Self::ModeWorker(form),
            ]),
        }
        let is_batch = form.legacy.children == Children::Jobs;
        rules.extend(is_batch.then_some(Self::Ends));
        rules.extend([Self::Container(form), Self::Image(form), Self::Name]);
        rules.push(Self::PodNames(form));
        rules.push(Self::Templates(form));
        rules
    }

    /// The rule in CEL.
    pub fn validation(self, table: &'static RoleTable) -> Validation {
        match self {
            Self::Spec => name::spec_cel(),
            Self::Name => name::label_cel(),
            Self::Role(form) => entry::role_cel(table, form),
            Self::Container(form) => entry::container_cel(table, form),
            Self::Image(form) => entry::image_cel(table, form),
            Self::Once(form) => job::once_cel(table, form),
            Self::Replicas(form, id) => job::replicas_cel(table, form, id),
            Self::Requires(form, id, other) => job::requires_cel(table, form, id, other),
            Self::Local(form) => job::local_cel(table, form),
            Self::Mode(_) => mode::known_cel(),
            Self::ModeStays => mode::stays_cel(),
            Self::ModeRole(form, id) => mode::role_cel(table, form, id),
            Self::ModeAlone(form) => mode::alone_cel(table, form),
            Self::ModeOne(form) => mode::one_cel(table, form),
            Self::ModeWorker(form) => mode::worker_cel(table, form),
            Self::Ends => entry::restart_cel(),
            Self::Policy => job::policy_cel(),
            Self::Chief(form) => job::chief_cel(table, form),
            Self::RuntimeId => edit::runtime_id_cel(),
            Self::RuntimeIdForm => edit::form_cel(),
            Self::PodNames(form) => entry::pod_names_cel(table, form),
            Self::Templates(form) => edit::templates_cel(table, form),
        }
    }

    /// The rule in Rust: what it finds wrong.
    pub fn verdict(self, table: &'static RoleTable, job: &ListSubject<'_>) -> Vec<Problem> {
        match self {
            // There is one, or there would be no subject.
            Self::Spec => Vec::new(),
            Self::Name => name::label_of(job.name, job.old.is_some()),
            Self::Role(form) => entry::role(table, form, job.spec),
            Self::Container(form) => entry::container(table, form, job.spec),
            Self::Image(form) => entry::image(table, form, job.spec),
            Self::Once(form) => job::once(table, form, job.spec),
            Self::Replicas(form, id) => job::replicas(table, form, id, job.spec),
            Self::Requires(form, id, other) => job::requires(table, form, id, other, job.spec),
            Self::Local(form) => job::local(table, form, job.spec),
            Self::Mode(_) => mode::known(job.spec),
            Self::ModeStays => mode::stays(job),
            Self::ModeRole(form, id) => mode::role(table, form, id, job.spec),
            Self::ModeAlone(form) => mode::alone(table, form, job.spec),
            Self::ModeOne(form) => mode::one(table, form, job.spec),
            Self::ModeWorker(form) => mode::worker(table, form, job.spec),
            Self::Ends => entry::restart(job.spec),
            Self::Policy => job::policy(job.spec),
            Self::Chief(form) => job::chief(table, form, job.spec),
            Self::RuntimeId => edit::runtime_id(job),
            Self::RuntimeIdForm => edit::form(job),
            Self::PodNames(form) => entry::pod_names(table, form, job),
            Self::Templates(form) => edit::templates(table, form, job),
        }
    }
}
