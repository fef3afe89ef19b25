//! `#[derive(ReplicaRole)]`: the replica roles of a training job, declared as an enum.
//!
//! The derive knows nothing about jobs: it writes the declaration down as a constant
//! `mxjob_core::role::RoleTable`, which mxjob-core reads. It works in stages: `attr` reads the
//! attributes, `model` puts them beside the variants, `check` compares the parts, `expand` writes
//! the impls, and `fallback` takes its place when there was a mistake.

mod attr;
mod check;
mod derive;
mod errors;
mod expand;
mod fallback;
mod model;
mod suggest;
#[cfg(test)]
mod tests;

/// # Replica roles as an enum
///
/// Each variant is a role of a training job: a group of pods that run the same thing. From the enum come the
/// CustomResourceDefinition with its validation, the defaults, the pods' environment, the services, the rule for
/// success, and a whole operator and command line, `mxjob_operator::main::<Role>()`.
///
/// ```
/// use mxjob_core::{ReplicaRole, RoleTable};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
/// #[roles(
///     crd(group = "render.example.org", kind = "RenderJob", short_names = ["rj"]),
///     container = "render",
///     port(name = "tiles", number = 7000),
///     mode(Render, chief = [Merger], workers = [Renderer], env(
///         MERGER = host(Merger),
///         MERGER_PORT = port(Merger),
///         RENDERERS = count(Renderer),
///         QUALITY = default("high"),
///     )),
/// )]
/// pub enum RenderRole {
///     /// Puts the tiles together and writes the picture.
///     #[role(mode = Render, replicas = 1)]
///     Merger,
///     /// Renders every n-th tile.
///     #[role(mode = Render, replicas = 1..=64, default = 4, gpu, env(TILE = index))]
///     Renderer,
/// }
///
/// let table: &RoleTable = RenderRole::TABLE;
/// assert_eq!(table.crd.plural, "renderjobs");
/// assert_eq!(table.role(RenderRole::Renderer.id()).default, 4);
/// assert_eq!("renderer".parse(), Ok(RenderRole::Renderer));
/// assert_eq!(RenderRole::Merger.to_string(), "Merger");
/// ```
///
/// A manifest of that set:
///
/// ```yaml
/// apiVersion: render.example.org/v1
/// kind: RenderJob
/// metadata: {name: film}
/// spec:
///   mxReplicaSpecs:
///     Merger: {template: {spec: {containers: [{name: render, image: example.org/render:1}]}}}
///     Renderer: {replicas: 8, template: {spec: {containers: [{name: render, image: example.org/render:1}]}}}
/// ```
///
/// The derive implements `mxjob_core::ReplicaRole` (the table, names and ids), `FromStr` (any letter case), `Display`,
/// and serde's `Serialize` and `Deserialize` and schemars' `JsonSchema`, which read and write a role as its name. What
/// the keys mean is in mxjob-core. Mistakes are reported together, each where it stands, in up to three waves: what
/// cannot be read, what does not fit together, what does not fit a base set.
///
/// The crate of a role set depends on mxjob-core alone, its program on mxjob-operator besides, its build script on
/// mxjob-build. A build script cannot use the package that it builds, so the set is in a package of its own.
///
/// # Names
///
/// A role's name is part of host names: ASCII letters and digits, a letter first, at most 59 of them. Two roles differ
/// in more than letter case. A mode's name has ASCII letters and digits, and two modes differ in more than letter case
/// as well. In attributes a role goes by its variant, also when it is renamed: `Worker`, not `Self::Worker`. A set has
/// at most 16 roles, those of its base sets counted.
///
/// # Keys of `#[roles(..)]`, on the enum
///
/// | key | means | without it |
/// |---|---|---|
/// | `mode(Name, ..)` | a way in which a job can run, see below; repeatable. A job has roles of one mode | |
/// | `crd(group = "..", kind = "..")` | the custom resource; also `plural`, `singular`, `short_names = [".."]` | `kubeflow.org`, `MXJob`; in an extension the base set's |
/// | `container = ".."` | name of the container in which a replica's work runs: its exit code counts, it gets the port | `"main"` |
/// | `port(name = "..", number = 9091)` | port that is added to that container unless the manifest has one of that name | `job-port`, 9091 |
/// | `config_env = ".."` | environment variable with the whole layout of the job, as JSON: `{"cluster": .., "labels": .., "task": ..}` | no such variable |
/// | `crate = ::path` | where mxjob-core is, for a crate that re-exports it; an absolute path | `::mxjob_core` |
///
/// # Keys of `mode(Name, ..)`
///
/// | key | means | without it |
/// |---|---|---|
/// | `chief = [Role, ..]` | the first of these roles that a job has decides whether it has succeeded; a job needs one of them | an error |
/// | `workers = [Role, ..]` | roles that the job waits for after its chief, and that `successPolicy: AllWorkers` looks at | none |
/// | `fixed_membership` | replicas cannot come back, or be added, while the others run: a new size restarts the whole job, and `mxjob lint` warns about restart policies that cannot help | they can |
/// | `env(..)` | variables of every role of the mode | none |
///
/// # Keys of `#[role(..)]`, on a variant
///
/// | key | means | without it |
/// |---|---|---|
/// | `mode = Name` | the mode that the role belongs to | an error |
/// | `replicas = 1`, `1..`, `0..=4` | how many replicas a job may have of it; no more than 100000 | an error |
/// | `default = 2` | how many it has when the manifest does not say | the least, but at least 1 |
/// | `optional` | a job of the mode need not have the role | it must |
/// | `requires = [Role, ..]` | roles of the mode that must have a replica when this one has | none |
/// | `restart = [OnFailure, ..]` | the restart policies that a manifest may ask for, the default first | `Never`, `OnFailure`, `Always`, `ExitCode` |
/// | `gpu` | the role uses accelerators; `mxjob lint` warns about others that ask for them | it does not |
/// | `label` | the role's `label` of the manifest goes into the `config_env` variable | it is left out |
/// | `env(..)` | variables of this role, after those of its mode | none |
/// | `mode_env = false` | the role does not get the variables of its mode | it does |
/// | `services = false` | its replicas have no services, nobody connects to them: `host` and `hosts` of the role are mistakes, and in the `config_env` variable they are listed by names that lead nowhere in a cluster | one each |
/// | `container = ".."`, `port(..)` | others than the set's | the set's |
/// | `rename = ".."` | the role's name in manifests | the variant's |
/// | `extend` | the variant holds a base set, see below; stands alone | a role |
///
/// Doc comments of the variants are what `kubectl explain` shows about the roles.
///
/// # Where variables come from
///
/// A variable is written `NAME = source`, with one of these sources. `default` lets a value in the manifest win; all
/// others win over the manifest.
///
/// | source | value |
/// |---|---|
/// | `"text"` | the text |
/// | `default("text")` | the text, unless the manifest sets the variable |
/// | `role` | the replica's role, in lower case |
/// | `index` | the replica's index in its role, from 0 |
/// | `count(Role)` | number of replicas of a role; 0 when the job does not have it |
/// | `host(Role)` | host name of the role's replica 0 |
/// | `port(Role)` | port of the role's replica 0 |
/// | `hosts(Role)` | `host:port` of all replicas of a role, in the order of their index, with commas between |
/// | `field("metadata.namespace")` | a field of the pod, by the downward API |
///
/// The fields are `metadata.name`, `metadata.namespace`, `metadata.uid`, `metadata.labels['<KEY>']`,
/// `metadata.annotations['<KEY>']`, `spec.nodeName`, `spec.serviceAccountName`, `status.hostIP`, `status.hostIPs`,
/// `status.podIP` and `status.podIPs`.
///
/// An `env(..)` that asks for `host`, `port` or `hosts` of a role which the job at hand does not have is left out whole.
/// When that is the block of a mode, the blocks of its roles go with it: they add to what says where to meet. Only a
/// role with `mode_env = false` keeps its own. `mxjob lint` warns, and names the variables of both.
///
/// # Extending a set
///
/// A variant marked `extend` holds another role set, from this crate or another one. Its roles, modes, container,
/// port, layout variable and custom resource come along; `#[roles(..)]` may say otherwise, and may declare more modes.
/// Of several base sets the first gives its layout variable and custom resource, while the roles of each keep their
/// container and port. No two of them have a role or a mode of the same name.
/// Roles of the base set are written `Variant::Role`, also those that the base set itself has from a base set; where
/// the base set has renamed one, by that name.
///
/// ```
/// use mxjob_core::{MxRole, ReplicaRole};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
/// pub enum MyRole {
///     #[role(extend)]
///     Mx(MxRole),
///     /// Scores checkpoints while training runs.
///     #[role(mode = MXTrain, mode_env = false, replicas = 0..=1, default = 0, optional, restart = [OnFailure], env(
///         EVAL_SCHEDULER = host(Mx::Scheduler), EVAL_WORKERS = hosts(Mx::Worker)))]
///     Evaluator,
/// }
///
/// assert_eq!(MyRole::parse("worker"), Some(MyRole::Mx(MxRole::Worker)));
/// assert_eq!(MyRole::TABLE.crd.kind, "MXJob");
/// ```
///
/// # Beyond the table
///
/// What a table cannot say is code: implement `mxjob_core::Custom` for the enum, which has a method for each such
/// thing (for one, to edit a replica's pod), and use the set as `mxjob_core::Customized<MyRole>`. An extension that holds
/// that keeps what it does.
///
/// # From the enum to a program
///
/// ```text
/// fn main() -> std::process::ExitCode {
///     mxjob_operator::main::<my_roles::MyRole>()
/// }
/// ```
///
/// is the operator, `run`, `lint`, `plan` and `crds` for the set. In the build script of that program, not of the role
/// set's own package,
///
/// ```text
/// fn main() -> std::io::Result<()> {
///     mxjob_build::write_crds::<my_roles::MyRole>("crds")
/// }
/// ```
///
/// keeps the CustomResourceDefinition beside it up to date.
#[proc_macro_derive(ReplicaRole, attributes(role, roles))]
pub fn replica_role(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::replica_role(input.into()).into()
}
