//! The clock of the operator's machine jumps by an hour, there and back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use e2e::ScriptedKubelet;
use e2e::deadline::until;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::json;
use tempfile::TempDir;

use crate::bench::{Bench, LEASE, Operator, PATIENCE, training};
use crate::facts::{lines, made, succeed};

/// The pods that are deleted.
const REPLACED: [&str; 2] = ["now-worker-0", "later-worker-0"];

/// A clock that a file sets, `+1h`. That of the terms of leases nobody can set, so it is left alone.
struct Clock {
    folder: TempDir,
}

impl Clock {
    fn new() -> Result<Self> {
        let clock = Self {
            folder: TempDir::new()?,
        };
        clock.set("+0")?;
        Ok(clock)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("time")
    }

    fn set(&self, offset: &str) -> Result<()> {
        let new = self.folder.path().join("new");
        fs::write(&new, offset)?;
        Ok(fs::rename(new, self.file())?)
    }

    /// The operator as a program that goes by it.
    fn program(&self) -> Result<PathBuf> {
        let places = fs::read_dir("/usr/lib")?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut libraries = places.map(|place| place.join("faketime/libfaketimeMT.so.1"));
        let library = libraries.find(|library| library.is_file());
        let library = library.context("no libfaketime: run e2e/install-node-packages.sh")?;
        let path = self.folder.path().join("mxjob");
        let text = format!(
            "#!/bin/sh\nexport LD_PRELOAD={} FAKETIME_TIMESTAMP_FILE={} FAKETIME_NO_CACHE=1\n\
             export FAKETIME_DONT_FAKE_MONOTONIC=1\nexec {} \"$@\"\n",
            library.display(),
            self.file().display(),
            Path::new(env!("CARGO_BIN_EXE_e2e-mxjob")).display(),
        );
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }
}

/// A job begins; how far its start is ahead of now, in minutes.
async fn ahead(bench: &Bench, name: &str) -> Result<i64> {
    let mut job = training(name, 0, 1);
    job["spec"]["mxReplicaSpecs"]["Worker"]["restartPolicy"] = json!("ExitCode");
    bench.create(&job).await?;
    let job = bench.phase(name, "Running").await?;
    let status = job.status.context("no status")?;
    let start: Timestamp = status.start_time.context("no start")?.0;
    let ahead: SignedDuration = start.duration_since(Timestamp::now());
    Ok(ahead.as_mins())
}

/// A pod that is deleted comes again.
async fn replaced(bench: &Bench, name: &str) -> Result<()> {
    let old = bench.pods.get(name).await?.uid();
    bench.pods.delete(name, &DeleteParams::default()).await?;
    until("another pod", PATIENCE, || async {
        let pod = bench.pods.get_opt(name).await?;
        Ok(pod.is_some_and(|pod| pod.uid() != old))
    })
    .await
}

// contract: 11.36
#[tokio::test]
async fn the_lead_and_the_jobs_go_on_when_the_clock_is_set() -> Result<()> {
    let (bench, plane) = Bench::shared("clock").await?;
    let clock = Clock::new()?;
    let arguments = [
        ["--namespace", &bench.namespace],
        ["--own-namespace", &bench.namespace],
        ["--lease-name", LEASE],
        ["--lease-duration", "5s"],
    ];
    let program = clock.program()?;
    let operator =
        Operator::start_program(&program.to_string_lossy(), plane, arguments.as_flattened())?;
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    let now = ahead(&bench, "now").await?;
    ensure!((-5..=5).contains(&now), "{now}");

    clock.set("+1h")?;
    let later = ahead(&bench, "later").await?;
    ensure!((55..=65).contains(&later), "{later}");
    replaced(&bench, "now-worker-0").await?;

    clock.set("-1h")?;
    let earlier = ahead(&bench, "earlier").await?;
    ensure!((-65..=-55).contains(&earlier), "{earlier}");
    // Its end is an hour to come.
    replaced(&bench, "later-worker-0").await?;
    succeed(&kubelet, "later", 1).await?;
    bench.phase("later", "Succeeded").await?;

    clock.set("+0")?;
    for job in ["now", "earlier"] {
        succeed(&kubelet, job, 1).await?;
        bench.phase(job, "Succeeded").await?;
    }
    for (pod, times) in made(&bench, plane)? {
        let wanted = if REPLACED.contains(&pod.as_str()) {
            2
        } else {
            1
        };
        ensure!(times == wanted, "{pod}: {times}");
    }
    for bad in [" ERROR ", "lost the lease", "cannot renew"] {
        let said = lines(&operator, bad)?;
        ensure!(said.is_empty(), "{said:#?}");
    }
    Ok(())
}
