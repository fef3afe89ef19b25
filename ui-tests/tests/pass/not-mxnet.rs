// A role set that has nothing to do with MXNet: own group and kind, two roles, no layout variable.
use mxjob_core::ReplicaRole;
use mxjob_core::role::Crd;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    crd(group = "render.example.org", kind = "RenderJob", short_names = ["rj"]),
    mode(Render, chief = [Merger], workers = [Renderer], env(MERGER = host(Merger))),
)]
pub enum RenderRole {
    #[role(mode = Render, replicas = 1)]
    Merger,
    #[role(mode = Render, replicas = 1..)]
    Renderer,
}

fn main() {
    let table = RenderRole::TABLE;
    assert_eq!(table.crd, Crd::new("render.example.org", "RenderJob", "renderjobs", "renderjob", &["rj"]));
    assert_eq!(table.config_env, None);
    assert_eq!(table.roles.len(), 2);
    assert_eq!((table.container, table.port.name), ("main", "job-port"));
}
