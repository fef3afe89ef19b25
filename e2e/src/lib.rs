//! Tests against the real thing: a control plane of etcd, kube-apiserver and
//! kube-controller-manager on loopback, with either a scripted kubelet that only
//! tells what pods do, or a real node that runs them.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! let plane = e2e::ControlPlane::shared().await?;
//! let namespace = plane.namespace("restart").await?;
//! let kubelet = e2e::ScriptedKubelet::run_all(plane.client().await?, &namespace);
//! // … create a job as `e2e::User::Operator` …
//! kubelet.fail("digits-worker-1", 137).await?;
//! # Ok(()) }
//! ```
//!
//! Nothing outlives a test: every program is a child of a shell that waits for the
//! test process to close a pipe, however it ends (see `supervisor.sh`).

pub mod binaries;
mod certificates;
mod control_plane;
pub mod deadline;
pub mod http;
pub mod kubelet;
#[cfg(feature = "real-node")]
pub mod node;
pub mod ports;
pub mod proxy;
pub mod session;
mod supervisor;
pub mod usage;

pub use control_plane::{ControlPlane, Controllers, User};
pub use kubelet::ScriptedKubelet;
#[cfg(feature = "real-node")]
pub use node::RealNode;
