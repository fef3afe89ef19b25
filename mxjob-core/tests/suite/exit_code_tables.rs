//! What every exit code from 0 to 255 means at each version of each API.

use crate::lists::entry;
use crate::mlkube;
use crate::older_worlds::{manifest, world};
use crate::support::{MX, World, set};
use mxjob_core::api::Version;
use mxjob_core::conversion::convert;
use mxjob_core::{MxRole, ReplicaRole};
use serde_json::json;

/// What becomes of a replica that ends with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    Retried,
    Failed,
}
use Verdict::{Done, Failed, Retried};

/// Runs a job for each code and says what became of it.
fn assert_table(api: &str, start: impl Fn() -> World, wanted: impl Fn(i32) -> Verdict) {
    for code in 0..=255 {
        let mut world = start();
        let worker = MX.worker(1);
        let before = world.uid(worker);
        world.exit(worker, code);
        world.start_all();
        let verdict = match world.phase().as_str() {
            "Failed" => Failed,
            _ if world.counts("Worker").succeeded == 1 => Done,
            _ => Retried,
        };
        assert_eq!(verdict, wanted(code), "{api}: {code}");
        let ended = world.counts("Worker");
        let told = (ended.succeeded, ended.failed, ended.restarts);
        let restarts = i32::from(verdict == Retried);
        let wanted = (i32::from(verdict == Done), i32::from(verdict == Failed));
        assert_eq!(told, (wanted.0, wanted.1, restarts), "{api}: {code}");
        if verdict == Retried {
            assert!(
                world.uid(worker).is_some() && world.uid(worker) != before,
                "{api}: {code}"
            );
            assert_eq!(world.phase(), "Running", "{api}: {code}");
        }
    }
}

/// Codes of signals are retried, 128 too.
fn of_signals(code: i32) -> Verdict {
    match code {
        0 => Done,
        1..=127 => Failed,
        _ => Retried,
    }
}

/// The four codes of the table are retried, and no other.
fn of_the_table(code: i32) -> Verdict {
    match code {
        0 => Done,
        130 | 137 | 138 | 143 => Retried,
        _ => Failed,
    }
}

// contract: 7.1.3
#[test]
fn of_v1_where_exit_codes_decide() {
    let start = || {
        let mut job = MX.job(1, 1, 2);
        set(
            &mut job,
            "spec.mxReplicaSpecs.Worker.restartPolicy",
            json!("ExitCode"),
        );
        World::running(MX, job)
    };
    assert_table("v1", start, of_signals);
}

// contract: 12.7
// promise: P59, P60, P61, P62, P63
#[test]
fn of_v1beta1_where_exit_codes_decide() {
    let start = || {
        let mut job = MX.job(1, 1, 2);
        job["apiVersion"] = json!("kubeflow.org/v1beta1");
        set(
            &mut job,
            "spec.mxReplicaSpecs.Worker.restartPolicy",
            json!("ExitCode"),
        );
        World::running(MX, convert(MxRole::TABLE, job, Version::V1).unwrap())
    };
    assert_table("v1beta1", start, of_the_table);
}

/// A job whose roles are a list.
fn listed(group: &str) -> World {
    let entries = [
        entry("SCHEDULER", 1),
        entry("SERVER", 1),
        entry("WORKER", 2),
    ];
    world(&manifest(group, &entries))
}

// contract: 12.7
// promise: P59, P60, P61, P62, P63
#[test]
fn of_v1alpha1() {
    assert_table("v1alpha1", || listed("kubeflow.org"), of_the_table);
}

// contract: 12.21
// promise: P64
#[test]
fn of_fioravanzo() {
    assert_table("fioravanzo.org", || listed("fioravanzo.org"), of_signals);
}

// contract: 12.26
#[test]
fn of_mlkube() {
    let start = || mlkube::world(&mlkube::dist());
    assert_table("mxnet.mlkube.io", start, of_signals);
}
