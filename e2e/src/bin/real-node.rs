//! A control plane with a real node to play with:
//! `cargo run -p e2e --features real-node --bin real-node`, then use the kubeconfig file
//! that it names. It lasts until standard input closes or Ctrl-C.

use std::io::{self, Write};

use anyhow::Result;
use e2e::{ControlPlane, Controllers, RealNode, session};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let plane = ControlPlane::start_with(Controllers::All).await?;
    let node = RealNode::start(&plane).await?;
    let facts = json!({
        "KUBECONFIG": plane.kubeconfig(),
        "folder": plane.folder(),
        "nodeFolder": node.folder(),
    });
    writeln!(io::stdout(), "{facts}")?;
    session::end().await;
    Ok(())
}
