//! The rules of a role set: what types cannot say about a job. Each is one [`Rule`] with two
//! renderings side by side: [`Rule::validation`], the CEL that the API server runs, and
//! [`Rule::verdict`], the same in Rust. On one object they say the same.

pub(super) mod cel;
mod edit;
mod list;
mod mode;
mod name;
mod pod;
mod policy;
mod roles;
mod shown;

use crate::api::v1::JobSpec;
use crate::problem::Problem;
use crate::role::{Mode, RoleId, RoleTable};
use crate::schema::Place;
use edit::Templates;

pub use list::{ListRule, ListSubject};
pub use mode::effective as effective_mode;
pub use policy::Flat;

pub(super) use shown::Fields;

pub(crate) use list::{ID_LETTERS, NO_CHIEF, can_stand_in_names, missing_chief, missing_replica};
pub(crate) use name::{NAME, too_long};
pub(crate) use pod::{containers, is_same as same_port, number as port_number};
pub(crate) use policy::failure_rules;
pub use roles::MAX_REPLICAS;
pub(crate) use roles::{has_replica, path as role_path};

/// A rule of a role set.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// The object has a spec.
    Spec,
    /// Every key of the map of roles is a role.
    RoleKnown,
    /// No role is there twice in different letter case.
    RoleOnce,
    /// A role has as many replicas as was declared.
    Replicas(RoleId),
    /// All roles together have no more replicas than a cluster could run.
    Size,
    /// A role has one of the restart policies that were declared.
    RestartPolicy(RoleId),
    /// The roles that a role requires have replicas when it has.
    Requires(RoleId),
    /// With a mode given, all roles are of it.
    ModeRoles(&'static Mode),
    /// Without a mode given, all roles are of one mode.
    ModeMixed,
    /// The roles of a mode that are not optional are there.
    ModeNeeds(&'static Mode),
    /// One of the roles that can be a mode's chief has a replica.
    ModeChief(&'static Mode),
    /// Success of all workers needs a worker.
    AllWorkers,
    /// The container that the work runs in is there, by this name for these roles.
    WorkContainer(&'static str),
    /// A container has an image.
    Image,
    /// No port of a container is there twice.
    Ports,
    /// The job's name is a DNS-1035 label.
    Name,
    /// The longest pod name fits in a DNS label.
    PodNames,
    /// A policy that is given in both layouts is the same in both.
    Agrees(Flat),
    /// An exit code is `N` or `N-M`.
    ExitCode,
    /// A rule of a failure policy names roles of the set.
    FailureRole,
    /// `managedBy` stays what it was.
    ManagedBy,
    /// The mode stays what it was.
    ModeStays,
    /// Templates stay what they were while pods may run.
    Templates,
}

/// A rule as the API server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// Where `self` is.
    pub place: Place,
    /// The CEL expression that must be true.
    pub rule: String,
    /// What the user reads.
    pub message: String,
    /// A CEL expression for a message with the user's own words in it.
    pub message_expression: Option<String>,
    /// The field that the message is about, relative to the place.
    pub field_path: Option<String>,
    /// `oldSelf` is an optional, and the rule runs at creation too.
    pub sees_creation: bool,
}

impl Validation {
    fn new(place: Place, rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place,
            rule: rule.into(),
            message: message.into(),
            message_expression: None,
            field_path: None,
            sees_creation: false,
        }
    }

    fn saying(mut self, expression: impl Into<String>) -> Self {
        self.message_expression = Some(expression.into());
        self
    }

    fn about(mut self, field: impl Into<String>) -> Self {
        self.field_path = Some(field.into());
        self
    }

    fn seeing_creation(mut self) -> Self {
        self.sees_creation = true;
        self
    }
}

/// What is judged: a job, and when it is an edit, what it was before.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The job's name.
    pub name: &'a str,
    /// Its spec.
    pub spec: &'a JobSpec,
    /// What it was before; `None`: it is being created.
    pub old: Option<Before<'a>>,
}

/// A job before an edit.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// Its spec.
    pub spec: &'a JobSpec,
    /// It had succeeded or failed.
    pub finished: bool,
}

impl Rule {
    /// The rules that a role set has; those that could not be broken are left out.
    pub fn of(table: &'static RoleTable) -> Vec<Self> {
        // Where several are broken, the first is the mistake and the others may follow from it.
        let mut rules = vec![Self::Spec, Self::RoleKnown, Self::RoleOnce];
        rules.extend([Self::ManagedBy, Self::ModeStays]);
        rules.extend(roles::rules(table));
        rules.extend(mode::rules(table));
        rules.extend(pod::rules(table));
        rules.extend([Self::Name, Self::PodNames]);
        rules.extend(Flat::ALL.map(Self::Agrees));
        rules.extend([Self::ExitCode, Self::FailureRole]);
        rules.push(Self::Templates);
        rules
    }

    /// The rules about what v1beta1 can say, in CEL: the spec is a map of roles there too. `fields`: of the
    /// templates in its schema.
    pub(super) fn of_v1beta1(
        table: &'static RoleTable,
        fields: &Fields,
    ) -> impl Iterator<Item = Validation> {
        let rules = Self::of(table).into_iter();
        rules.filter_map(move |rule| match rule {
            Self::Agrees(_) | Self::ManagedBy | Self::ExitCode | Self::FailureRole => None,
            Self::Templates => Some(edit::templates_cel(Templates::V1Beta1(table, fields))),
            rule => Some(rule.validation(table)),
        })
    }

    /// The rule in CEL.
    pub fn validation(self, table: &'static RoleTable) -> Validation {
        match self {
            Self::Spec => name::spec_cel(),
            Self::RoleKnown => roles::known_cel(table),
            Self::RoleOnce => roles::once_cel(),
            Self::Replicas(id) => roles::replicas_cel(table.role(id)),
            Self::Size => roles::size_cel(table),
            Self::RestartPolicy(id) => roles::restart_cel(table.role(id)),
            Self::Requires(id) => roles::requires_cel(table, table.role(id)),
            Self::ModeRoles(mode) => mode::roles_cel(table, mode),
            Self::ModeMixed => mode::mixed_cel(table),
            Self::ModeNeeds(mode) => mode::needs_cel(table, mode),
            Self::ModeChief(mode) => mode::chief_cel(table, mode),
            Self::AllWorkers => mode::all_workers_cel(table),
            Self::WorkContainer(name) => pod::work_cel(table, name),
            Self::Image => pod::image_cel(),
            Self::Ports => pod::ports_cel(),
            Self::Name => name::label_cel(),
            Self::PodNames => name::pods_cel(table),
            Self::Agrees(flat) => policy::agrees_cel(flat),
            Self::ExitCode => policy::exit_code_cel(),
            Self::FailureRole => policy::failure_role_cel(table),
            Self::ManagedBy => edit::managed_by_cel(),
            Self::ModeStays => edit::mode_cel(table),
            Self::Templates => edit::templates_cel(Templates::V1),
        }
    }

    /// The rule in Rust: what it finds wrong. It says nothing about what an earlier rule refuses.
    pub fn verdict(self, table: &'static RoleTable, job: &Subject<'_>) -> Vec<Problem> {
        match self {
            // There is one, or there would be no subject.
            Self::Spec => Vec::new(),
            Self::RoleKnown => roles::known(table, job.spec),
            Self::RoleOnce => roles::once(job.spec),
            Self::Replicas(id) => roles::replicas(table.role(id), job.spec),
            Self::Size => roles::size(table, job.spec),
            Self::RestartPolicy(id) => roles::restart(table.role(id), job.spec),
            Self::Requires(id) => roles::requires(table, table.role(id), job.spec),
            Self::ModeRoles(mode) => mode::roles(table, mode, job.spec),
            Self::ModeMixed => mode::mixed(table, job.spec),
            Self::ModeNeeds(mode) => mode::needs(table, mode, job.spec),
            Self::ModeChief(mode) => mode::chief(table, mode, job.spec),
            Self::AllWorkers => mode::all_workers(table, job.spec),
            Self::WorkContainer(name) => pod::work(table, name, job.spec),
            Self::Image => pod::image(job.spec),
            Self::Ports => pod::ports(job.spec),
            Self::Name => name::label(job),
            Self::PodNames => name::pods(table, job),
            Self::Agrees(flat) => policy::agrees(flat, job.spec),
            Self::ExitCode => policy::exit_code(job.spec),
            Self::FailureRole => policy::failure_role(table, job.spec),
            Self::ManagedBy => edit::managed_by(job),
            Self::ModeStays => edit::mode(table, job),
            Self::Templates => edit::templates(job),
        }
    }
}
