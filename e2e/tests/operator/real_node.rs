//! The digits example, trained by MXNet in real pods.

use crate::bench::{Bench, Operator};
use crate::example::Example;
use anyhow::{Context as _, Result};
use e2e::node::RealNode;
use e2e::{ControlPlane, Controllers};
use mxjob_core::{MxRole, ReplicaRole as _};

#[tokio::test]
async fn on_a_real_node_the_digits_job_learns() -> Result<()> {
    let digits = Example::new("train", "digits.yaml")?;
    let plane = ControlPlane::start_with(Controllers::All).await?;
    plane
        .install_crds(&[mxjob_core::schema::crd(MxRole::TABLE)])
        .await?;
    let node = RealNode::start(&plane).await?;
    let bench = Bench::new(&plane, "digits").await?;
    let _operator = Operator::start(&plane, &bench.namespace)?;

    bench.create(&digits.job).await?;
    let job = bench.phase("digits", "Succeeded").await?;
    assert_eq!(
        crate::example::phases(&bench, &plane)?,
        ["Created", "Running", "Succeeded"]
    );
    let status = job.status.context("no status")?;
    assert!(
        status
            .replica_statuses
            .values()
            .all(|role| role.restarts == 0),
        "{status:?}"
    );

    let log = node.logs(&bench.namespace, "digits-worker-0")?;
    let accuracy = log
        .lines()
        .find_map(|line| line.strip_prefix("test accuracy "));
    let accuracy: f64 = accuracy.with_context(|| log.clone())?.parse()?;
    assert!(accuracy >= 0.95, "{log}");
    assert!(
        digits.path("out/digits.params").is_file(),
        "worker 0 saves what was learnt"
    );
    Ok(())
}
