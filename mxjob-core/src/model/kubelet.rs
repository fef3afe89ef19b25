//! The kubelet's bookkeeping: pod status, restarts in place, the end of a deletion.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodCondition, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Cluster, Report, Work};
use crate::job::{Job, Replica};
use crate::plan::Target;
use crate::role::{RestartPolicy, RoleTable};
use crate::wiring::names;

/// Longest wait before a container is started again, in seconds; as the kubelet's.
const LONGEST_WAIT: i64 = 300;
/// Condition of a pod that is to make room: preempted, evicted, drained.
const DISRUPTED: &str = "DisruptionTarget";

/// A pod and what its node knows of it.
#[derive(Debug)]
pub(super) struct ModelPod {
    pub(super) pod: Pod,
    replica: Replica,
    container: &'static str,
    /// When the container is started again.
    pub(super) restart_at: Option<Timestamp>,
    /// Somebody was told to start it.
    pub(super) handed_over: bool,
    running_since: Option<Timestamp>,
    restarts: i32,
    /// Its node is being drained.
    disrupted: bool,
}

impl ModelPod {
    /// A fresh pod; `None` when its name is not that of a replica of the job.
    pub(super) fn new(mut pod: Pod, table: &'static RoleTable, job: Option<&Job>) -> Option<Self> {
        let name = pod.metadata.name.as_deref()?;
        let replica = names::parse(table, &job?.meta.name, name)?;
        let container = table
            .role(replica.role)
            .container
            .unwrap_or(table.container);
        pod.status = Some(PodStatus {
            phase: Some("Pending".to_owned()),
            ..PodStatus::default()
        });
        let (restart_at, running_since) = (None, None);
        Some(Self {
            pod,
            replica,
            container,
            restart_at,
            handed_over: false,
            running_since,
            restarts: 0,
            disrupted: false,
        })
    }

    pub(super) fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(super) fn target(&self) -> Target {
        Target {
            name: self.pod.metadata.name.clone().unwrap_or_default(),
            uid: self.uid().to_owned(),
        }
    }

    pub(super) fn start(&self, restart: u32) -> Work {
        Work::Start {
            uid: self.uid().to_owned(),
            pod: Box::new(self.pod.clone()),
            replica: self.replica,
            restart,
        }
    }

    /// True when nothing of it runs or can start: ended, or waiting for a restart.
    pub(super) fn is_idle(&self) -> bool {
        self.restart_at.is_some() || matches!(self.phase(), "Succeeded" | "Failed")
    }

    fn phase(&self) -> &str {
        self.pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref())
            .unwrap_or_default()
    }

    fn started(&mut self, now: Timestamp) {
        self.running_since = Some(now);
        let state = ContainerState {
            running: Some(ContainerStateRunning {
                started_at: Some(Time(now)),
            }),
            ..ContainerState::default()
        };
        self.show("Running", state, true);
    }

    fn exited(&mut self, now: Timestamp, code: i32, reason: Option<String>) {
        let ended = ContainerStateTerminated {
            exit_code: code,
            reason: reason
                .or_else(|| Some(if code == 0 { "Completed" } else { "Error" }.to_owned())),
            started_at: self.running_since.map(Time),
            finished_at: Some(Time(now)),
            ..ContainerStateTerminated::default()
        };
        if self.restarts_in_place(code) {
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
            self.show(
                "Running",
                ContainerState {
                    waiting: Some(waiting),
                    ..ContainerState::default()
                },
                false,
            );
        } else {
            let phase = if code == 0 { "Succeeded" } else { "Failed" };
            self.show(
                phase,
                ContainerState {
                    terminated: Some(ended),
                    ..ContainerState::default()
                },
                false,
            );
        }
    }

    fn restarts_in_place(&self, code: i32) -> bool {
        let policy = self
            .pod
            .spec
            .as_ref()
            .and_then(|spec| spec.restart_policy.as_deref())
            .unwrap_or("Always");
        policy == RestartPolicy::Always.name()
            || (policy == RestartPolicy::OnFailure.name() && code != 0)
    }

    fn show(&mut self, phase: &str, state: ContainerState, ready: bool) {
        let mut conditions = vec![condition("Ready", ready)];
        conditions.extend(self.disrupted.then(|| condition(DISRUPTED, true)));
        let container = ContainerStatus {
            name: self.container.to_owned(),
            ready,
            restart_count: self.restarts,
            state: Some(state),
            ..ContainerStatus::default()
        };
        self.pod.status = Some(PodStatus {
            phase: Some(phase.to_owned()),
            conditions: Some(conditions),
            container_statuses: Some(vec![container]),
            ..PodStatus::default()
        });
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
        let Some((name, pod)) = self.pods.iter_mut().find(|(_, pod)| pod.uid() == uid) else {
            return;
        };
        match report {
            Report::Started { .. } => pod.started(now),
            Report::Exited { .. } if pod.pod.metadata.deletion_timestamp.is_some() => {
                let name = name.clone();
                self.pods.remove(&name);
                self.collect();
            }
            Report::Exited { code, reason, .. } => pod.exited(now, code, reason),
        }
    }

    /// A pod goes without a trace, as with a lost node or a forced deletion.
    pub fn vanish(&mut self, name: &str) {
        if let Some(pod) = self.pods.remove(name) {
            self.work.retain(|work| work.uid() != pod.uid());
            self.collect();
        }
    }

    /// A pod is drained from its node: it is told to make room, then it is stopped.
    pub fn drain(&mut self, name: &str, now: Timestamp) {
        let Some(pod) = self.pods.get_mut(name) else {
            return;
        };
        pod.disrupted = true;
        let status = pod.pod.status.get_or_insert_default();
        let conditions = status.conditions.get_or_insert_default();
        conditions.push(condition(DISRUPTED, true));
        let target = pod.target();
        // It has just been found, under that uid.
        let _found = self.delete_pod(&target, now);
    }

    /// Starts containers whose wait is over.
    pub(super) fn start_due(&mut self, now: Timestamp) {
        for pod in self
            .pods
            .values_mut()
            .filter(|pod| pod.restart_at.is_some_and(|at| at <= now))
        {
            pod.restart_at = None;
            let restart = u32::try_from(pod.restarts).unwrap_or(0);
            self.work.push_back(pod.start(restart));
        }
    }
}
