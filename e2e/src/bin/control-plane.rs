//! A control plane to play with: `cargo run -p e2e --bin control-plane`, then use the
//! kubeconfig file that it names. It lasts until standard input closes or Ctrl-C.

use std::io::{self, Write};

use anyhow::Result;
use e2e::{ControlPlane, session};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let facts = json!({
        "KUBECONFIG": plane.kubeconfig(),
        "folder": plane.folder(),
        "pids": plane.pids().await,
    });
    writeln!(io::stdout(), "{facts}")?;
    session::end().await;
    Ok(())
}
