//! The kubelet's bookkeeping: pod status, restarts in place, the end of a deletion.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodCondition, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::api::{Deletion, Part};
use super::stored::{GRACE, Stored};
use super::{Cluster, Report, Work};
use crate::job::{Job, Replica};
use crate::role::RestartPolicy;
use crate::wiring::names;

/// Longest wait before a container is started again, in seconds; as the kubelet's.
const LONGEST_WAIT: i64 = 300;
/// Condition of a pod that is to make room: preempted, evicted, drained.
const DISRUPTED: &str = "DisruptionTarget";
/// The one node.
const NODE: &str = "model";

/// What the node knows of a pod.
#[derive(Clone, Debug)]
pub(super) struct NodePod {
    uid: String,
    replica: Replica,
    container: &'static str,
    /// What the kubelet does when the container ends.
    policy: String,
    /// When the container is started again.
    pub(super) restart_at: Option<Timestamp>,
    progress: Progress,
    running_since: Option<Timestamp>,
    /// How its container ended before this run.
    last_end: Option<ContainerStateTerminated>,
    restarts: i32,
    /// It was told to make room.
    disrupted: bool,
}

/// How far the node has got with a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nobody has been told of it.
    Fresh,
    /// Somebody was told to start it.
    HandedOver,
    /// Somebody was told to stop it.
    Stopping,
    /// It has ended for good.
    Ended,
}

impl NodePod {
    /// A fresh pod; `None` when its name is not that of a replica of the job, whose work alone is
    /// done here.
    fn new(pod: &Pod, job: &Job) -> Option<Self> {
        let table = job.table;
        let name = pod.metadata.name.as_deref()?;
        let (replica, _) = names::of_pod(table, &job.meta.name, name)?;
        let container = table
            .role(replica.role)
            .container
            .unwrap_or(table.container);
        let spec = pod.spec.as_ref();
        let policy = spec.and_then(|spec| spec.restart_policy.clone());
        Some(Self {
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            replica,
            container,
            policy: policy.unwrap_or_else(|| RestartPolicy::Always.name().to_owned()),
            restart_at: None,
            progress: Progress::Fresh,
            running_since: None,
            last_end: None,
            restarts: 0,
            disrupted: false,
        })
    }

    /// True when nothing of it runs.
    fn is_idle(&self) -> bool {
        self.restart_at.is_some() || matches!(self.progress, Progress::Fresh | Progress::Ended)
    }

    fn started(&mut self, now: Timestamp) -> PodStatus {
        self.running_since = Some(now);
        let state = ContainerState {
            running: Some(ContainerStateRunning {
                started_at: Some(Time(now)),
            }),
            ..ContainerState::default()
        };
        self.status("Running", state, true)
    }

    fn exited(&mut self, now: Timestamp, code: i32, reason: Option<String>) -> PodStatus {
        let ended = ContainerStateTerminated {
            exit_code: code,
            reason: reason
                .or_else(|| Some(if code == 0 { "Completed" } else { "Error" }.to_owned())),
            started_at: self.running_since.map(Time),
            finished_at: Some(Time(now)),
            ..ContainerStateTerminated::default()
        };
        if self.progress != Progress::Stopping && self.restarts_in_place(code) {
            let wait = crash_wait(self.restarts);
            self.restarts += 1;
            self.restart_at = Some(
                now.checked_add(SignedDuration::from_secs(wait))
                    .unwrap_or(now),
            );
            let waiting = ContainerStateWaiting {
                reason: Some("CrashLoopBackOff".to_owned()),
                message: None,
            };
            self.last_end = Some(ended);
            let state = ContainerState {
                waiting: Some(waiting),
                ..ContainerState::default()
            };
            self.status("Running", state, false)
        } else {
            self.progress = Progress::Ended;
            let phase = if code == 0 { "Succeeded" } else { "Failed" };
            self.status(
                phase,
                ContainerState {
                    terminated: Some(ended),
                    ..ContainerState::default()
                },
                false,
            )
        }
    }

    fn restarts_in_place(&self, code: i32) -> bool {
        self.policy == RestartPolicy::Always.name()
            || (self.policy == RestartPolicy::OnFailure.name() && code != 0)
    }

    fn status(&self, phase: &str, state: ContainerState, ready: bool) -> PodStatus {
        let mut conditions = vec![condition("Ready", ready)];
        conditions.extend(self.disrupted.then(|| condition(DISRUPTED, true)));
        let container = ContainerStatus {
            name: self.container.to_owned(),
            ready,
            restart_count: self.restarts,
            state: Some(state),
            last_state: self.last_end.clone().map(|ended| ContainerState {
                terminated: Some(ended),
                ..ContainerState::default()
            }),
            ..ContainerStatus::default()
        };
        PodStatus {
            phase: Some(phase.to_owned()),
            conditions: Some(conditions),
            container_statuses: Some(vec![container]),
            ..PodStatus::default()
        }
    }
}

fn condition(kind: &str, holds: bool) -> PodCondition {
    PodCondition {
        type_: kind.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        ..PodCondition::default()
    }
}

/// Waits before the kubelet starts a container again, in seconds: 0, 10, 20, 40 … 300.
fn crash_wait(earlier: i32) -> i64 {
    match u32::try_from(earlier).unwrap_or(0) {
        0 => 0,
        n => (10_i64 << (n.min(6) - 1)).min(LONGEST_WAIT),
    }
}

impl Cluster {
    /// Takes note of what became of a pod's containers. A report about a pod that is gone is ignored.
    pub fn report(&mut self, now: Timestamp, report: Report) {
        let uid = match &report {
            Report::Started { uid } | Report::Exited { uid, .. } => uid.clone(),
        };
        let Some((name, node)) = self.node.iter_mut().find(|(_, node)| node.uid == uid) else {
            return;
        };
        let name = name.clone();
        let status = match report {
            Report::Started { .. } => node.started(now),
            Report::Exited { code, reason, .. } => node.exited(now, code, reason),
        };
        self.show(&uid, &name, status);
        self.look_after(&name, now);
    }

    fn show(&mut self, uid: &str, name: &str, status: PodStatus) {
        let only = Deletion::of(uid).only;
        // A pod that is gone has no status.
        let _gone = self
            .server
            .update::<Pod>(name, &only, Part::Status, |pod| pod.status = Some(status));
    }

    /// A pod goes without a trace, as with a lost node or a forced deletion.
    pub fn vanish(&mut self, name: &str, now: Timestamp) {
        // That it is gone is what is wanted.
        let _gone = self.server.delete::<Pod>(name, &Deletion::now(), now);
        self.look_after(name, now);
    }

    /// A pod is drained from its node: it is told to make room, then it is stopped.
    pub fn drain(&mut self, name: &str, now: Timestamp) {
        let Ok(pod) = self.server.get::<Pod>(name) else {
            return;
        };
        let uid = pod.meta().uid.clone().unwrap_or_default();
        if let Some(node) = self.node.get_mut(name) {
            node.disrupted = true;
        }
        let mut status = pod.status.clone().unwrap_or_default();
        let conditions = status.conditions.get_or_insert_default();
        conditions.push(condition(DISRUPTED, true));
        self.show(&uid, name, status);
        // It has just been found, under that uid.
        let _found = self.server.delete::<Pod>(name, &Deletion::of(&uid), now);
        self.look_after(name, now);
    }

    /// Starts containers whose wait is over.
    pub fn start_restarts(&mut self, now: Timestamp) {
        let due = |pod: &NodePod| pod.restart_at.is_some_and(|at| at <= now);
        for (name, pod) in self.node.iter_mut().filter(|(_, pod)| due(pod)) {
            pod.restart_at = None;
            let restart = u32::try_from(pod.restarts).unwrap_or(0);
            let work = self.server.get::<Pod>(name).map(|object| Work::Start {
                uid: pod.uid.clone(),
                pod: object,
                replica: pod.replica,
                restart,
            });
            self.work.extend(work);
        }
    }

    /// Somebody has the pod now: its node is known.
    pub(super) fn hand_over(&mut self, uid: &str) {
        let fresh = |node: &NodePod| node.uid == uid && node.progress == Progress::Fresh;
        let Some((name, node)) = self.node.iter_mut().find(|(_, node)| fresh(node)) else {
            return;
        };
        node.progress = Progress::HandedOver;
        let only = Deletion::of(uid).only;
        // A pod that is gone needs no node.
        let _gone = self.server.update::<Pod>(name, &only, Part::Main, |pod| {
            pod.spec.get_or_insert_default().node_name = Some(NODE.to_owned());
        });
    }

    /// The node hears of a pod: a fresh one is to be started, one to be deleted is to be stopped. When
    /// nothing of that runs, it goes.
    pub(super) fn look_after(&mut self, name: &str, now: Timestamp) {
        let pod = self.server.get::<Pod>(name).ok();
        let uid = pod.as_ref().and_then(|pod| pod.metadata.uid.clone());
        let other = |node: &NodePod| Some(&node.uid) != uid.as_ref();
        if let Some(node) = self.node.get(name).filter(|node| other(node)) {
            self.work.retain(|work| work.uid() != node.uid);
            self.node.remove(name);
        }
        match pod {
            Some(pod) if pod.metadata.deletion_timestamp.is_some() => self.stop(name, &pod, now),
            Some(pod) if !self.node.contains_key(name) => self.take_up(name, pod),
            _ => {}
        }
        // A deleted job waits for its pods.
        if self.job().is_some_and(|job| job.meta.deleting) && !self.node.contains_key(name) {
            self.server.collect_garbage(now);
        }
    }

    fn take_up(&mut self, name: &str, pod: Arc<Pod>) {
        if let Some(node) = self.job().and_then(|job| NodePod::new(&pod, job)) {
            self.work.push_back(Work::Start {
                uid: node.uid.clone(),
                pod,
                replica: node.replica,
                restart: 0,
            });
            self.node.insert(name.to_owned(), node);
        }
    }

    fn stop(&mut self, name: &str, pod: &Pod, now: Timestamp) {
        let Some(node) = self.node.get_mut(name) else {
            return;
        };
        let uid = &node.uid;
        let queued = self.work.len();
        let waits = |work: &Work| matches!(work, Work::Start { .. }) && work.uid() == uid;
        self.work.retain(|work| !waits(work));
        if queued == self.work.len() && !node.is_idle() {
            if std::mem::replace(&mut node.progress, Progress::Stopping) != Progress::Stopping {
                let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(GRACE);
                self.work.push_back(Work::Stop {
                    uid: uid.clone(),
                    grace: Duration::from_secs(u64::try_from(grace).unwrap_or(0)),
                });
            }
            return;
        }
        let how = Deletion {
            grace: Some(0),
            ..Deletion::of(uid)
        };
        // Only a finalizer keeps it; that is not the node's business.
        if self.server.delete::<Pod>(name, &how, now).is_ok()
            && self.server.get::<Pod>(name).is_err()
        {
            self.node.remove(name);
        }
    }
}
