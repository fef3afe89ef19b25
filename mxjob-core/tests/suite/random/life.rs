//! One life: what happens, to whom, in which order.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::job::{Job, Replica};
use mxjob_core::model::{
    Cluster, Done, Fault, Kind, Leader, News, Part, Preconditions, Report, StoredJob, Work,
};
use mxjob_core::plan::Action;
use mxjob_core::wiring::Addresses;
use serde_json::json;

use super::history::History;
use super::invariants;
use super::schedule::{Op, Schedule};
use crate::support::{Set, left};

/// Looks after which a planner that was left alone must want nothing more.
const LOOKS: usize = 16;
/// Rounds of node and clock after which a job that is left alone must have ended.
const ROUNDS: usize = 40;

pub(crate) struct Life<'a> {
    pub(crate) schedule: &'a Schedule,
    pub(crate) set: Set,
    pub(crate) cluster: Cluster,
    /// As it was when it was made.
    pub(crate) job: Job,
    pub(crate) leaders: Vec<Leader>,
    pub(crate) now: Timestamp,
    pub(crate) history: History,
    /// Uids of everything that this job's name has stood for.
    pub(crate) own: BTreeSet<String>,
    to_start: Vec<(String, Replica)>,
    to_stop: Vec<String>,
    running: Vec<(String, Replica)>,
    /// Pods that the user made.
    pub(crate) seconds: BTreeSet<String>,
}

type Verdict = Result<(), String>;

impl<'a> Life<'a> {
    /// Lives a schedule to its end.
    pub(crate) fn live(schedule: &'a Schedule) -> Verdict {
        let mut life = Self::new(schedule);
        for (at, op) in schedule.ops.iter().enumerate() {
            life.happen(op)
                .and_then(|()| life.hold())
                .map_err(|why| format!("{why}\nat {at}: {op:?}"))?;
        }
        life.end().map_err(|why| format!("{why}\nafter all"))
    }

    fn new(schedule: &'a Schedule) -> Self {
        let cluster = Cluster::new(schedule.set.table, Addresses::Cluster).watched();
        let mut life = Self {
            schedule,
            set: schedule.set,
            cluster,
            job: Job::read(schedule.set.table, &schedule.manifest),
            leaders: Vec::new(),
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            history: History::default(),
            own: BTreeSet::new(),
            to_start: Vec::new(),
            to_stop: Vec::new(),
            running: Vec::new(),
            seconds: BTreeSet::new(),
        };
        life.create();
        if schedule.left {
            life.leave();
        }
        life.leaders = (0..schedule.leaders).map(|_| life.leader()).collect();
        life
    }

    pub(crate) fn create(&mut self) {
        let manifest = self.schedule.manifest.clone();
        let policy = &manifest["spec"]["runPolicy"];
        self.history = History {
            rivals: self.schedule.leaders > 1,
            backoff_limit: !policy["backoffLimit"].is_null(),
            deadline: !policy["activeDeadlineSeconds"].is_null(),
            ..History::default()
        };
        self.cluster.create_job(manifest, self.now).unwrap();
        self.job = self.cluster.job().unwrap().clone();
        self.history.uid = self.job.meta.uid.clone();
        self.own.insert(self.history.uid.clone());
    }

    /// An older operator has left the job with its pods, of which some run and some have failed beside the
    /// one that took their place.
    fn leave(&mut self) {
        let job = self.job.clone();
        let Some(spec) = job.spec.as_ref().ok().filter(|_| job.meta.run.is_some()) else {
            return;
        };
        let any = Preconditions::default();
        let accepted = |job: &mut StoredJob| {
            let created = json!([{"type": "Created", "status": "True"}]);
            job.status_mut().conditions = serde_json::from_value(created).unwrap();
        };
        let server = &mut self.cluster.server;
        server.update("demo", &any, Part::Status, accepted).unwrap();
        for (at, replica) in spec.replicas().enumerate() {
            let service = left::service(&job, replica);
            self.cluster.server.create(service, self.now).unwrap();
            if at % 4 == 1 {
                self.listen();
                let failed = left::pod(&job, replica, "zzzzz");
                let failed = self.cluster.create_pod(failed, self.now).unwrap();
                // The node has had it.
                drop(self.cluster.poll_work());
                let (uid, code, reason) = (uid(&failed).unwrap(), 1, None);
                self.cluster
                    .report(self.now, Report::Exited { uid, code, reason });
            }
            let pod = left::pod(&job, replica, "12345");
            self.cluster.create_pod(pod, self.now).unwrap();
        }
    }

    fn leader(&self) -> Leader {
        Leader::new(&self.cluster, "demo", self.schedule.debounced)
    }

    fn happen(&mut self, op: &Op) -> Verdict {
        let leaders = self.leaders.len();
        let one = |who: usize| who % leaders;
        match *op {
            Op::Step(who, times, fault) => {
                for left in (0..times).rev() {
                    let fault = if left == 0 { fault } else { Fault::None };
                    self.step(one(who), fault)?;
                }
            }
            Op::Hear(who, kind, news) => {
                let who = one(who);
                if leaders > 1 && kind == Kind::Jobs {
                    self.leaders[who].hear_all(&self.cluster, News::Next(usize::MAX));
                }
                self.leaders[who].hear(&self.cluster, kind, news);
            }
            Op::HearAll(who) => {
                let who = one(who);
                self.leaders[who].hear_all(&self.cluster, News::Next(usize::MAX));
            }
            Op::LookAtStrangers(who) => {
                let who = one(who);
                self.leaders[who].look_at_strangers(&self.cluster);
            }
            Op::Expire(who) => {
                self.leaders[one(who)].expire();
                self.history.unheard = true;
            }
            Op::Crash(who, fault) => {
                let who = one(who);
                self.step(who, fault)?;
                self.leaders[who] = self.leader();
            }
            Op::Settle => self.settle()?,
            Op::Pass(millis) => self.pass(millis),
            Op::Start => self.start(),
            Op::Stop => self.stop(),
            Op::Exit(which, code) => self.exit(which, code),
            Op::Collect => self.cluster.collect_garbage(self.now),
            _ => self.user(op),
        }
        Ok(())
    }

    /// A leader sends a request; what no request may do is checked.
    fn step(&mut self, who: usize, fault: Fault) -> Verdict {
        let leader = &mut self.leaders[who];
        if let Some(action) = leader.next() {
            invariants::touches_its_own(&self.cluster, &self.own, action)?;
        }
        let (pods, services) = (self.cluster.pods().count(), self.cluster.services().count());
        let finished = |job: &Job| job.status.is_finished();
        let over = self.cluster.job().is_some_and(finished);
        let knew = leader.planned_for().is_some_and(finished);
        let makes = matches!(leader.next(), Some(Action::CreatePod(..)));
        self.history.unheard |= makes && fault == Fault::Lost;
        let done = leader.step(&mut self.cluster, self.now, fault);
        self.listen();
        match &done {
            Done::Looked {
                plan,
                status: Ok(()),
            } => match &plan.status {
                Some(written) => invariants::says_it_once(&self.leaders[who], self.now, written),
                None => Ok(()),
            },
            Done::Acted { action, .. } => {
                if *action == Action::DeleteJob {
                    self.history = History::default();
                }
                let more = self.cluster.pods().count() > pods
                    || self.cluster.services().count() > services;
                // A leader alone knows of the end, for it has written it.
                if more && (knew || (over && self.leaders.len() == 1)) {
                    return Err(format!("created after the end: {action:?}"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn listen(&mut self) {
        while let Some(work) = self.cluster.poll_work() {
            match work {
                Work::Start { uid, replica, .. } => self.to_start.push((uid, replica)),
                Work::Stop { uid, .. } => {
                    self.to_start.retain(|(one, _)| *one != uid);
                    self.running.retain(|(one, _)| *one != uid);
                    self.to_stop.push(uid);
                }
            }
        }
    }

    fn start(&mut self) {
        self.listen();
        for (uid, replica) in std::mem::take(&mut self.to_start) {
            self.cluster
                .report(self.now, Report::Started { uid: uid.clone() });
            self.running.push((uid, replica));
        }
    }

    fn stop(&mut self) {
        self.listen();
        for uid in std::mem::take(&mut self.to_stop) {
            let (code, reason) = (143, None);
            self.cluster
                .report(self.now, Report::Exited { uid, code, reason });
        }
        self.listen();
    }

    fn exit(&mut self, which: usize, code: i32) {
        let there: BTreeSet<_> = self.cluster.pods().filter_map(uid).collect();
        self.running.retain(|(uid, _)| there.contains(uid));
        if self.running.is_empty() {
            return;
        }
        let (uid, replica) = self.running.remove(which % self.running.len());
        self.history.exits += 1;
        self.history.errors += i32::from(code != 0);
        if code == 0 {
            self.history.succeeded.insert(replica);
        }
        let reason = None;
        self.cluster
            .report(self.now, Report::Exited { uid, code, reason });
    }

    fn pass(&mut self, millis: i64) {
        let span = SignedDuration::from_millis(millis);
        self.now = self.now.checked_add(span).unwrap();
        self.cluster.start_restarts(self.now);
        self.listen();
    }

    /// The first leader sees everything, and nothing goes wrong, until it wants nothing more.
    fn settle(&mut self) -> Verdict {
        let mut waited = !self.schedule.debounced;
        for _ in 0..LOOKS {
            loop {
                self.leaders[0].hear_all(&self.cluster, News::Next(usize::MAX));
                self.leaders[0].look_at_strangers(&self.cluster);
                self.step(0, Fault::None)?;
                self.hold()?;
                if self.leaders[0].next().is_none() {
                    break;
                }
            }
            self.leaders[0].hear_all(&self.cluster, News::Next(usize::MAX));
            let wants = self.leaders[0].plan(self.now, None);
            let rests = wants.is_none_or(|plan| {
                plan.status.is_none() && plan.actions.is_empty() && plan.events.is_empty()
            });
            if rests && waited {
                return invariants::at_rest(self);
            }
            if rests {
                // What is held back to be written later is due now.
                self.step(0, Fault::None)?;
                waited = true;
                self.pass(5_000);
            }
        }
        let plan = self.leaders[0].plan(self.now, None);
        Err(format!("not at rest after {LOOKS} looks: {plan:?}"))
    }

    /// What holds whatever has happened.
    fn hold(&mut self) -> Verdict {
        invariants::hold(self)?;
        if let Some(job) = self.cluster.job() {
            self.history.last.clone_from(&job.status);
        }
        Ok(())
    }

    /// From here on all goes well: the job ends, as declared.
    fn end(&mut self) -> Verdict {
        self.leaders = vec![self.leader()];
        self.free_names();
        for _ in 0..ROUNDS {
            // A job whose deletion waits for its pods goes before the next of its name.
            self.stop();
            self.cluster.collect_garbage(self.now);
            if self.cluster.job().is_none() {
                self.create();
            }
            self.edit("spec.runPolicy.ttlSecondsAfterFinished", json!(null));
            self.edit("spec.runPolicy.suspend", json!(false));
            self.settle()?;
            if self
                .cluster
                .job()
                .is_some_and(|job| job.status.is_finished())
                && self.to_stop.is_empty()
            {
                break;
            }
            self.stop();
            self.settle()?;
            self.pass(400_000);
            self.start();
            self.settle()?;
            while !self.running.is_empty() {
                self.exit(0, 0);
            }
        }
        invariants::ended_as_declared(self)
    }
}

pub(crate) fn uid(pod: &Pod) -> Option<String> {
    pod.metadata.uid.clone()
}

/// Uid of the controlling owner.
pub(crate) fn owner(pod: &Pod) -> Option<&String> {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    owners
        .iter()
        .find(|one| one.controller == Some(true))
        .map(|one| &one.uid)
}
