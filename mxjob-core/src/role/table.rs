//! The role table: what `#[derive(ReplicaRole)]` fills in, as plain constant data.
//!
//! Every struct is made by a `const fn new` with the keys that must be there and changed by
//! `const fn` setters, so that a table written by hand keeps compiling when a key is added.

use super::{Crd, EditPod, Env, RestartPolicy, RoleId};

/// Most roles of a set: what the API server's cost budget for rules has room for.
pub const MOST_ROLES: usize = 16;

/// Everything declared about a set of replica roles.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RoleTable {
    /// The custom resource that the set makes.
    pub crd: Crd,
    /// Name of the container that a replica's work runs in.
    pub container: &'static str,
    /// The port that every replica listens on unless its template says otherwise.
    pub port: Port,
    /// Name of the environment variable with the job's layout as JSON; `None`: no such variable.
    pub config_env: Option<&'static str>,
    /// The ways in which a job can run; a job runs in exactly one of them.
    pub modes: &'static [Mode],
    /// The roles, in the order of declaration.
    pub roles: &'static [Role],
}

impl RoleTable {
    /// A table with `modes` and `roles` for MXJob, containers named `main` and port `job-port` 9091.
    pub const fn new(modes: &'static [Mode], roles: &'static [Role]) -> Self {
        Self {
            crd: Crd::MXJOB,
            container: "main",
            port: Port::new("job-port", 9091),
            config_env: None,
            modes,
            roles,
        }
    }

    /// A table of an extension: with the names of its first base set.
    pub const fn extending(
        base: &'static Self,
        modes: &'static [Mode],
        roles: &'static [Role],
    ) -> Self {
        Self {
            modes,
            roles,
            ..*base
        }
    }

    /// Sets the custom resource.
    #[must_use]
    pub const fn crd(mut self, crd: Crd) -> Self {
        self.crd = crd;
        self
    }

    /// Sets the container's name.
    #[must_use]
    pub const fn container(mut self, name: &'static str) -> Self {
        self.container = name;
        self
    }

    /// Sets the port.
    #[must_use]
    pub const fn port(mut self, port: Port) -> Self {
        self.port = port;
        self
    }

    /// Sets the variable that holds the job's layout.
    #[must_use]
    pub const fn config_env(mut self, name: &'static str) -> Self {
        self.config_env = Some(name);
        self
    }

    /// The operator's name in labels and events, like `mxjob-controller`. Services find their pods by
    /// it, so a job of an older group has another one than the job of that name beside it.
    pub fn operator(&self) -> String {
        let Crd {
            singular, group, ..
        } = self.crd;
        match self.crd.alone {
            None => format!("{singular}-controller"),
            Some(_) => format!("{singular}-controller.{group}"),
        }
    }

    /// The value of `runPolicy.managedBy` that means this operator, like
    /// `kubeflow.org/mxjob-controller`.
    pub fn manager(&self) -> String {
        format!("{}/{}", self.crd.group, self.operator())
    }

    /// The ids of all roles, in the order of declaration.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = RoleId> + use<> {
        let count = u8::try_from(self.roles.len()).unwrap_or(u8::MAX);
        (0..count).map(RoleId::new)
    }

    /// What was declared about a role; of a foreign id the first role.
    pub fn role(&self, id: RoleId) -> &'static Role {
        const NONE: Role = Role::new("?", "?", 0, Some(0));
        match self.roles.get(id.position()).or(self.roles.first()) {
            Some(role) => role,
            None => &NONE,
        }
    }

    /// The role of that name, in any letter case.
    pub fn find(&self, name: &str) -> Option<RoleId> {
        self.ids()
            .find(|id| self.role(*id).name.eq_ignore_ascii_case(name))
    }

    /// The mode of that name, exactly as declared.
    pub fn mode(&self, name: &str) -> Option<&'static Mode> {
        self.modes.iter().find(|mode| mode.name == name)
    }

    /// The roles of a mode, in the order of declaration.
    pub fn roles_of(&self, mode: &str) -> impl Iterator<Item = RoleId> {
        self.ids().filter(move |id| self.role(*id).mode == mode)
    }
}

/// A named container port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name, as in a container's `ports`.
    pub name: &'static str,
    /// Number, 1 to 65535.
    pub number: u16,
}

impl Port {
    /// A port of that name and number.
    pub const fn new(name: &'static str, number: u16) -> Self {
        Self { name, number }
    }
}

/// A way in which a job can run, like training or tuning.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Mode {
    /// Name, as in `spec.jobMode`.
    pub name: &'static str,
    /// The first of these roles that the job has is its chief: it decides success.
    pub chief: &'static [&'static str],
    /// Roles that the job waits for after its chief.
    pub workers: &'static [&'static str],
    /// Members cannot come back or be added while the job runs.
    pub fixed_membership: bool,
    /// Environment of every role of this mode that does not opt out.
    pub env: &'static [Env],
}

impl Mode {
    /// A mode whose success `chief` decides.
    pub const fn new(name: &'static str, chief: &'static [&'static str]) -> Self {
        Self {
            name,
            chief,
            workers: &[],
            fixed_membership: false,
            env: &[],
        }
    }

    /// Sets the roles that the job waits for after its chief.
    #[must_use]
    pub const fn workers(mut self, roles: &'static [&'static str]) -> Self {
        self.workers = roles;
        self
    }

    /// Says that members cannot come back or be added while the job runs.
    #[must_use]
    pub const fn fixed_membership(mut self) -> Self {
        self.fixed_membership = true;
        self
    }

    /// Sets the environment.
    #[must_use]
    pub const fn env(mut self, env: &'static [Env]) -> Self {
        self.env = env;
        self
    }
}

/// What was declared about one role.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a key of the declaration"
)]
pub struct Role {
    /// Name as manifests spell it, like `Worker`; in object names and labels lower-case.
    pub name: &'static str,
    /// The doc comment: what `kubectl explain` shows.
    pub doc: &'static str,
    /// The mode that the role belongs to.
    pub mode: &'static str,
    /// Fewest replicas.
    pub min: u32,
    /// Most replicas; `None`: no limit.
    pub max: Option<u32>,
    /// Replicas when the manifest does not say.
    pub default: u32,
    /// The role may be absent from a job of its mode.
    pub optional: bool,
    /// Roles that must have a replica when this one has.
    pub requires: &'static [&'static str],
    /// Allowed restart policies, the default first.
    pub restart: &'static [RestartPolicy],
    /// The role may ask for accelerators; `lint` warns about others that do.
    pub gpu: bool,
    /// The role's label goes into the layout variable.
    pub label: bool,
    /// The role gets its mode's environment.
    pub mode_env: bool,
    /// Every replica has a service of its own.
    pub services: bool,
    /// Another container name than the set's.
    pub container: Option<&'static str>,
    /// Another port than the set's.
    pub port: Option<Port>,
    /// Environment of its own, after the mode's.
    pub env: &'static [Env],
    /// Code that changes its pods, from [`Custom`](super::Custom).
    pub edit_pod: Option<EditPod>,
}

impl Role {
    /// A role of `mode` with `min` to `max` replicas, by default `min` but at least one.
    pub const fn new(name: &'static str, mode: &'static str, min: u32, max: Option<u32>) -> Self {
        Self {
            name,
            doc: "",
            mode,
            min,
            max,
            default: if min == 0 { 1 } else { min },
            optional: false,
            requires: &[],
            restart: RestartPolicy::ALL,
            gpu: false,
            label: false,
            mode_env: true,
            services: true,
            container: None,
            port: None,
            env: &[],
            edit_pod: None,
        }
    }

    /// Sets the description.
    #[must_use]
    pub const fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }

    /// Sets the number of replicas of a manifest that does not say.
    #[must_use]
    pub const fn default(mut self, replicas: u32) -> Self {
        self.default = replicas;
        self
    }

    /// Says that the role may be absent.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Sets the roles that must be there with this one.
    #[must_use]
    pub const fn requires(mut self, roles: &'static [&'static str]) -> Self {
        self.requires = roles;
        self
    }

    /// Sets the allowed restart policies, the default first.
    #[must_use]
    pub const fn restart(mut self, policies: &'static [RestartPolicy]) -> Self {
        self.restart = policies;
        self
    }

    /// Says that the role may ask for accelerators.
    #[must_use]
    pub const fn gpu(mut self) -> Self {
        self.gpu = true;
        self
    }

    /// Says that the role's label goes into the layout variable.
    #[must_use]
    pub const fn label(mut self) -> Self {
        self.label = true;
        self
    }

    /// Says that the role does not get its mode's environment.
    #[must_use]
    pub const fn without_mode_env(mut self) -> Self {
        self.mode_env = false;
        self
    }

    /// Says that replicas have no services.
    #[must_use]
    pub const fn without_services(mut self) -> Self {
        self.services = false;
        self
    }

    /// Sets a container name of its own.
    #[must_use]
    pub const fn container(mut self, name: &'static str) -> Self {
        self.container = Some(name);
        self
    }

    /// Sets a port of its own.
    #[must_use]
    pub const fn port(mut self, port: Port) -> Self {
        self.port = Some(port);
        self
    }

    /// Sets the role's own environment.
    #[must_use]
    pub const fn env(mut self, env: &'static [Env]) -> Self {
        self.env = env;
        self
    }

    /// Sets the code that changes the role's pods.
    #[must_use]
    pub const fn edit_pod(mut self, edit: EditPod) -> Self {
        self.edit_pod = Some(edit);
        self
    }

    /// True when the role can never have more than one replica.
    pub const fn is_single(&self) -> bool {
        matches!(self.max, Some(0 | 1))
    }
}
