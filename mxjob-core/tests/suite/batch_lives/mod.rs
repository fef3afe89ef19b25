//! Random lives of jobs of the oldest group, whose replicas are Jobs: everything that can happen to these,
//! to their pods and to the operator. Always the same lives; `MXJOB_RANDOM_LIVES` lives so many.

mod op;
mod operator;
mod server;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use mxjob_core::Job;
use mxjob_core::api::v1::{Condition, ConditionType, JobStatus};
use mxjob_core::job::Attempt;
use mxjob_core::k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use mxjob_core::plan::Action;
use mxjob_core::wiring::{Addresses, Wiring, labels};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::json;

use crate::mlkube::{MLKUBE, dist};
use op::{Op, op};
use operator::Operator;
use server::{Server, is_deleting, is_over, name};

/// Lives of a usual run.
const LIVES: u32 = 1_000;
/// Rounds after which one that is left alone must want nothing more, or must have ended.
const ROUNDS: usize = 60;

/// A life under way.
struct Life {
    server: Server,
    operator: Operator,
    /// Something has happened for which a job may fail: a code that is not retried, something lost.
    hurt: bool,
    chief_done: bool,
    last: JobStatus,
}

type Verdict = Result<(), TestCaseError>;

fn pick<T: Clone>(all: &[T], which: usize) -> Option<T> {
    all.get(which % all.len().max(1)).cloned()
}

impl Life {
    fn new(in_place: bool, left: bool) -> Self {
        let mut manifest = dist();
        let roles = manifest["spec"]["replicaSpecs"].as_array_mut().unwrap();
        for entry in roles {
            let policy = if in_place { "OnFailure" } else { "Never" };
            entry["template"]["spec"]["restartPolicy"] = json!(policy);
        }
        if left {
            manifest["status"] = json!({"phase": "Running", "state": "Running"});
        }
        let mut server = Server::new(MLKUBE.read(&manifest).0);
        if left {
            leave(&mut server);
        }
        Self {
            operator: Operator::new(&server),
            last: server.job.status.clone(),
            server,
            hurt: false,
            chief_done: false,
        }
    }

    fn live(&mut self, ops: &[Op]) -> Verdict {
        for op in ops {
            self.happen(op)?;
            self.holds().map_err(|why| why_at(&why, op))?;
        }
        self.end()
    }

    fn happen(&mut self, op: &Op) -> Verdict {
        let server = &mut self.server;
        let jobs: Vec<_> = server.batch.keys().cloned().collect();
        let pods: Vec<_> = server.pods.keys().cloned().collect();
        match *op {
            Op::Step(times) => (0..times).try_for_each(|_| self.step())?,
            Op::StepUnheard => self.made(Operator::step_unheard)?,
            Op::Hear(kind) => self.operator.hear(server, kind),
            Op::HearAll => self.operator.hear_all(server),
            Op::Crash => self.operator = Operator::new(server),
            Op::Settle => self.settle()?,
            Op::Control => server.control(),
            Op::Start => server.start(),
            Op::Stop => server.stop(),
            Op::Exit(which, code) => self.exit(which, code),
            Op::Pass(seconds) => self.pass(seconds),
            Op::DeleteJob(which, at_once) => {
                if let Some(job) = pick(&jobs, which) {
                    self.hurt = true;
                    if at_once {
                        server.drop_job(&job);
                    } else {
                        server.delete_job(&job);
                    }
                }
            }
            Op::DeletePod(which) => {
                if let Some(pod) = pick(&pods, which) {
                    self.hurt = true;
                    let now = Time(server.now);
                    let meta = &mut server.pods.get_mut(&pod).unwrap().metadata;
                    meta.deletion_timestamp.get_or_insert(now);
                }
            }
            Op::Suspend(which, suspend) => {
                // A Job of one that has ended would begin again, and nobody has said that it may.
                if let Some(job) = pick(&jobs, which).filter(|_| !server.job.status.is_finished()) {
                    self.hurt = true;
                    server
                        .batch
                        .get_mut(&job)
                        .unwrap()
                        .spec
                        .as_mut()
                        .unwrap()
                        .suspend = Some(suspend);
                }
            }
            Op::Orphan(which) => {
                if let Some(job) = pick(&jobs, which) {
                    orphan(&mut server.batch.get_mut(&job).unwrap().metadata);
                }
            }
            Op::UnlabelJob(which, label) => {
                if let Some(job) = pick(&jobs, which) {
                    unlabel(&mut server.batch.get_mut(&job).unwrap().metadata, label);
                }
            }
            Op::UnlabelPod(which, label) => {
                if let Some(pod) = pick(&pods, which) {
                    self.hurt = true;
                    unlabel(&mut server.pods.get_mut(&pod).unwrap().metadata, label);
                }
            }
            Op::Pause(paused) => {
                server.job.status.paused = Some(paused);
                server.version += 1;
                self.last.paused = Some(paused);
            }
        }
        Ok(())
    }

    fn pass(&mut self, seconds: i64) {
        let span = SignedDuration::from_secs(seconds);
        self.server.now = self.server.now.checked_add(span).unwrap();
    }

    fn exit(&mut self, which: usize, code: i32) {
        if let Some(pod) = pick(&self.server.running(), which) {
            self.hurt |= code != 0;
            self.chief_done |= code == 0 && pod.contains("-scheduler-");
            self.server.exit(&pod, code);
        }
    }

    fn step(&mut self) -> Verdict {
        self.made(Operator::step)
    }

    /// The operator sends a request; what none may do is checked.
    fn made(&mut self, step: fn(&mut Operator, &mut Server) -> Option<Action>) -> Verdict {
        let over = self.server.job.status.is_finished();
        let names: Vec<_> = self.server.batch.keys().cloned().collect();
        if let Some(Action::CreatePod(..)) = step(&mut self.operator, &mut self.server) {
            prop_assert!(!over, "created after the end");
            let made = self.server.batch.keys().find(|name| !names.contains(name));
            let alive = |name: &&String| {
                let pods = self.server.pods.values();
                let mut own = pods.filter(|pod| of(&pod.metadata) == name.as_str());
                own.any(|pod| !is_over(pod) && !is_deleting(&pod.metadata))
            };
            prop_assert!(
                made.as_ref().is_none_or(|one| !alive(one)),
                "made beside a pod: {made:?}"
            );
        }
        Ok(())
    }

    /// What holds whatever has happened.
    fn holds(&mut self) -> Result<(), String> {
        let status = &self.server.job.status;
        let old = std::mem::replace(&mut self.last, status.clone());
        if old.is_finished() && old.conditions != status.conditions {
            return Err(format!("a final condition changed: {old:?} {status:?}"));
        }
        let is = |kind| status.condition(kind).is_some_and(Condition::is_true);
        if is(ConditionType::Failed) && !self.hurt {
            return Err(format!("failed for no reason: {status:?}"));
        }
        if is(ConditionType::Succeeded) && !self.chief_done {
            return Err(format!("succeeded without its chief: {status:?}"));
        }
        let mut alive: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in self.server.pods.values() {
            if !is_over(pod) && !is_deleting(&pod.metadata) {
                *alive.entry(of(&pod.metadata)).or_default() += 1;
            }
        }
        match alive.iter().find(|(_, pods)| **pods > 1) {
            Some((job, _)) => Err(format!("two live pods of {job}")),
            None => Ok(()),
        }
    }

    /// The operator sees everything, until it wants nothing more.
    fn settle(&mut self) -> Verdict {
        for _ in 0..ROUNDS {
            // Its Jobs tell how their pods are.
            self.server.control();
            self.operator.hear_all(&self.server);
            let plan = self.operator.plan(&self.server);
            if !self.operator.is_busy() && plan.status.is_none() && plan.actions.is_empty() {
                return Ok(());
            }
            self.step()?;
            while self.operator.is_busy() {
                self.step()?;
            }
            self.holds().map_err(TestCaseError::fail)?;
        }
        let plan = self.operator.plan(&self.server);
        Err(TestCaseError::fail(format!("not at rest: {plan:?}")))
    }

    /// From here on all goes well: the job ends, and nothing of it tries again.
    fn end(&mut self) -> Verdict {
        self.server.job.status.paused = Some(false);
        self.server.version += 1;
        self.last.paused = Some(false);
        // What is nobody's and not to be told from a stranger's keeps its name until it goes.
        let all = self.server.batch.values();
        let strange = all.filter(|one| is_nobodys(&one.metadata) && !is_marked(&one.metadata));
        for name in strange.map(|one| name(&one.metadata)).collect::<Vec<_>>() {
            self.server.drop_job(&name);
        }
        self.operator = Operator::new(&self.server);
        for round in 0..ROUNDS {
            if !self.server.job.status.is_finished() {
                for job in self.server.batch.values_mut() {
                    job.spec.as_mut().unwrap().suspend = Some(false);
                }
            }
            self.settle()?;
            self.server.control();
            self.server.stop();
            self.server.control();
            self.server.start();
            self.server.control();
            self.settle()?;
            self.pass(400);
            let over = self.server.job.status.is_finished();
            if over && round > 8 {
                return self.is_cleaned_up();
            }
            while !over && !self.server.running().is_empty() {
                self.exit(0, 0);
            }
            self.server.control();
        }
        Err(TestCaseError::fail(format!(
            "never ended: {:?}",
            self.server.job.status
        )))
    }

    fn is_cleaned_up(&self) -> Verdict {
        for service in self.server.services.values() {
            prop_assert!(!is_nobodys(&service.metadata), "{:?}", service.metadata);
        }
        let failed = self.server.job.status.is(ConditionType::Failed);
        let running = self.server.running();
        // The others are in no watch, and nobody looks for them any more.
        let all = self.server.batch.values();
        for one in all.filter(|one| is_marked(&one.metadata)) {
            prop_assert!(!is_nobodys(&one.metadata), "{:?} is nobody's", one.metadata);
            let own = name(&one.metadata);
            let mut pods = running
                .iter()
                .map(|pod| of(&self.server.pods[pod].metadata));
            prop_assert!(!failed || !pods.any(|job| job == own), "{own} still runs");
        }
        Ok(())
    }
}

fn why_at(why: &str, op: &Op) -> TestCaseError {
    TestCaseError::fail(format!("{why}\nat {op:?}"))
}

/// Name of the Job whose pod that is.
fn of(meta: &ObjectMeta) -> &str {
    labels::controller(meta).map_or("", |owner| &owner.name)
}

fn is_nobodys(meta: &ObjectMeta) -> bool {
    labels::controller(meta).is_none()
}

fn is_marked(meta: &ObjectMeta) -> bool {
    let labels = meta.labels.as_ref();
    labels.is_some_and(|labels| labels.contains_key("mxnet.mlkube.io"))
}

fn unlabel(meta: &mut ObjectMeta, label: &str) {
    meta.labels.get_or_insert_default().remove(label);
}

/// As the first operator left its objects.
fn orphan(meta: &mut ObjectMeta) {
    meta.owner_references = None;
    let own = ["mxnet.mlkube.io", "job_type", "runtime_id", "task_index"];
    let labels = meta.labels.get_or_insert_default();
    labels.retain(|label, _| own.contains(&label.as_str()));
}

/// Jobs and services of the first operator, without an owner.
fn leave(server: &mut Server) {
    let job: Job = server.job.clone();
    let spec = job.spec.as_ref().unwrap();
    let wiring = Wiring::new(&job, spec, Addresses::Cluster);
    for replica in spec.replicas() {
        let mut child = wiring.batch_job(replica, Attempt::default()).unwrap();
        orphan(&mut child.metadata);
        let template = &mut child.spec.as_mut().unwrap().template;
        orphan(template.metadata.as_mut().unwrap());
        server.stamp(&mut child.metadata);
        server.batch.insert(name(&child.metadata), child);
        let mut service = wiring.service(replica).unwrap();
        orphan(&mut service.metadata);
        server.stamp(&mut service.metadata);
        server.services.insert(name(&service.metadata), service);
    }
    server.control();
    server.start();
    server.control();
}

// contract: 12.29, 12.40
#[test]
fn whatever_happens_to_its_batch_jobs_the_invariants_hold() {
    let lives = std::env::var("MXJOB_RANDOM_LIVES");
    let lives = lives.map_or(LIVES, |text| text.parse().unwrap());
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 3_000,
        ..Config::with_cases(lives)
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[0x5a; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let schedule = (
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(op(), 0..50),
    );
    let outcome = runner.run(&schedule, |(in_place, left, ops)| {
        Life::new(in_place, left).live(&ops)
    });
    if let Err(TestError::Fail(why, (in_place, left, ops))) = outcome {
        panic!("{why}\nin place: {in_place}, left: {left}\n{ops:#?}");
    }
}
