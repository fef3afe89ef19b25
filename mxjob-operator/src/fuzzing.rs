//! What a fuzzer (the folder `fuzz`) calls; not in any other build.

use mxjob_core::job::Attempt;
use mxjob_core::role::apis;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, MxRole};

use crate::manifest::{Findings, Input, Paint, judge};

/// Judges a manifest, renders what is said of it, and makes the first objects of the jobs in it that
/// are right.
pub fn manifest(bytes: &[u8]) {
    let Ok(input) = Input::of("fuzz".to_owned(), bytes.to_vec()) else {
        return;
    };
    let apis: Vec<_> = apis::<MxRole>().collect();
    let judged = judge(&apis, &input);
    let mut findings = Findings::default();
    findings.add(judged.findings);
    drop((
        findings.text(Paint::stdout()),
        findings.json(),
        findings.github(),
    ));
    for (table, document) in judged.jobs {
        let job = Job::read(table, &document.value);
        let Ok(spec) = &job.spec else { continue };
        let wiring = Wiring::new(&job, spec, Addresses::Cluster);
        let replicas = spec.replicas().take(9);
        let _pods: Vec<_> = replicas
            .filter_map(|replica| wiring.pod(replica, Attempt::default()))
            .collect();
    }
}
