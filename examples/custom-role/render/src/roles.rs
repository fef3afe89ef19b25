//! The replica roles of a render job.

use mxjob_core::ReplicaRole;

/// Who renders a picture. The job is done when the merger is; renderers serve until they are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    crd(group = "render.example.org", kind = "RenderJob", short_names = ["rj"]),
    container = "main",
    port(name = "strips", number = 7000),
    mode(Render, chief = [Merger], env(ROLE = role, RENDERERS = hosts(Renderer))),
)]
pub enum RenderRole {
    /// Hands out strips of the picture and puts them together.
    #[role(mode = Render, replicas = 1)]
    Merger,
    /// Renders the strips that it is asked for.
    #[role(mode = Render, replicas = 1.., env(RENDERER_INDEX = index))]
    Renderer,
}
