//! A control plane to play with: `cargo run -p e2e`, then `export KUBECONFIG=…` as it says.
//! It lasts until standard input closes or Ctrl-C.

use std::io::{self, Write};

use anyhow::Result;
use e2e::{ControlPlane, Controllers};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let plane = ControlPlane::start_with(Controllers::WithoutNodes).await?;
    let facts = json!({
        "KUBECONFIG": plane.kubeconfig(),
        "folder": plane.folder(),
        "pids": plane.pids().await,
    });
    writeln!(io::stdout(), "{facts}")?;
    tokio::select! {
        _ = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    // Here, since the thread that reads standard input would keep the runtime waiting.
    drop(plane);
    std::process::exit(0)
}
