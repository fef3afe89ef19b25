//! The matmul example, tuned by TVM in real pods.

use std::fs;
use std::time::Duration;

use crate::bench::{Bench, Operator};
use crate::example::Example;
use anyhow::{Context as _, Result};
use e2e::deadline::{self, Seen};
use e2e::node::RealNode;
use e2e::{ControlPlane, Controllers};
use kube::ResourceExt as _;
use kube::api::ListParams;
use mxjob_core::{MxRole, ReplicaRole as _};

/// TVM alone takes 15 s to load its tensor instructions.
const PATIENCE: Duration = Duration::from_mins(10);

#[tokio::test]
async fn on_a_real_node_the_matmul_job_is_tuned() -> Result<()> {
    let matmul = Example::new("tune", "matmul.yaml")?;
    let plane = ControlPlane::start_with(Controllers::All).await?;
    plane
        .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
        .await?;
    let node = RealNode::start(&plane).await?;
    let bench = Bench::new(&plane, "matmul").await?;
    let _operator = Operator::start(&plane, &bench.namespace)?;

    bench.create(&matmul.job).await?;
    bench.phase("matmul", "Running").await?;
    let status = deadline::until("the job to end", PATIENCE, || async {
        let job = bench.jobs.get("matmul").await?;
        let status = job.status.context("no status")?;
        Ok(if status.completion_time.is_some() {
            Seen::Done(status)
        } else {
            Seen::NotYet(serde_json::to_string(&status)?)
        })
    });
    let status = status.await?;
    assert_eq!(
        crate::example::phases(&bench, &plane)?,
        ["Created", "Running", "Succeeded"],
        "{status:?}"
    );
    let log = node.logs(&bench.namespace, "matmul-tuner-0")?;
    assert!(log.contains(" times as fast as untuned"), "{log}");
    let best = fs::read_to_string(matmul.path("out/best.py"))?;
    assert!(best.contains("def apply_trace("), "{best}");

    // Tracker and server would never end by themselves.
    let left = bench.pods(1).await?;
    assert_eq!(left.first().context("no pod")?.name_any(), "matmul-tuner-0");
    let services = bench.services.list(&ListParams::default()).await?;
    assert_eq!(services.items, []);
    Ok(())
}
