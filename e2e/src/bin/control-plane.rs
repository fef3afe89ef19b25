//! A control plane to play with: `cargo run -p e2e`, then use the kubeconfig file that it
//! names. With `--features real-node` and the argument `real-node`, pods run on it. It
//! lasts until standard input closes or Ctrl-C.

use std::env;
use std::io::{self, Write};

use anyhow::{Result, bail};
use e2e::{ControlPlane, Controllers};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let controllers = match env::args().nth(1).as_deref() {
        None => Controllers::WithoutNodes,
        Some("real-node") => Controllers::All,
        Some(other) => bail!("unknown argument {other:?}; there is only `real-node`"),
    };
    let plane = ControlPlane::start_with(controllers).await?;
    let node = match controllers {
        Controllers::All => Some(start_node(&plane).await?),
        Controllers::WithoutNodes => None,
    };
    let facts = json!({
        "KUBECONFIG": plane.kubeconfig(),
        "folder": plane.folder(),
        "pids": plane.pids().await,
        "node": format!("{node:?}"),
    });
    writeln!(io::stdout(), "{facts}")?;
    tokio::select! {
        _ = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    // Here, since the thread that reads standard input would keep the runtime waiting.
    drop(node);
    drop(plane);
    std::process::exit(0)
}

#[cfg(feature = "real-node")]
async fn start_node(plane: &ControlPlane) -> Result<e2e::RealNode> {
    e2e::RealNode::start(plane).await
}

#[cfg(not(feature = "real-node"))]
#[expect(clippy::unused_async, reason = "it stands for the one above")]
async fn start_node(_: &ControlPlane) -> Result<()> {
    bail!("this was built without a real node; use `cargo run -p e2e --features real-node`")
}
