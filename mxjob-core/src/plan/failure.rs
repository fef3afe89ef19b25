//! Replicas that failed, and what the job's policies say to each.

use jiff::Timestamp;

use super::draft::Draft;
use super::{Exit, PodPhase, PodView};
use crate::api::v1::FailureAction;
use crate::job::{FailureRule, Replica, RoleSpec, Spec};
use crate::role::RestartPolicy;

/// Exit code of a replica that ended without one: a pod that vanished, a lost node.
const LOST: i32 = 137;
/// Reason of a pod that vanished without the operator's doing.
const DELETED: &str = "Deleted";
/// Reason of a pod that was preempted, evicted or drained.
const DISRUPTED: &str = "DisruptionTarget";

/// A replica that failed.
#[derive(Clone, Copy)]
pub(super) struct Failure<'a> {
    pub(super) replica: Replica,
    pub(super) role: &'a RoleSpec,
    /// Its pod; `None` when that vanished.
    pub(super) pod: Option<&'a PodView>,
    /// When the pod was found gone.
    pub(super) vanished_at: Option<Timestamp>,
    /// It was preempted, evicted or drained.
    pub(super) disrupted: bool,
}

/// What is to be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    FailJob,
    Replace { counts: bool },
    RestartJob { counts: bool },
}

impl Failure<'_> {
    pub(super) fn code(&self) -> i32 {
        let exit = self.pod.and_then(PodView::exit);
        exit.map_or(LOST, |exit| exit.code)
    }

    /// When it happened, as far as anything tells: of a pod that never ran, when it was created.
    pub(super) fn at(&self, draft: &Draft<'_>) -> Option<Timestamp> {
        let times = match self.pod {
            Some(pod) => [pod.ended_at(), pod.created_at],
            None => [self.vanished_at, None],
        };
        let mut known = times.into_iter().flatten();
        known.find(|at| !draft.is_to_come(*at))
    }

    /// How long the container had run, in seconds.
    pub(super) fn ran_for(&self) -> i64 {
        let span = self
            .pod
            .and_then(|pod| Some(pod.exit.as_ref()?.at?.duration_since(pod.started_at?)));
        span.map_or(0, |span| span.as_secs())
    }

    fn has_reason(&self, reason: &str) -> bool {
        match self.pod {
            _ if self.disrupted && reason == DISRUPTED => true,
            None => reason == DELETED && !self.disrupted,
            // An evicted pod may have run out of memory as well: both are so.
            Some(pod) => pod.reasons().any(|one| one == reason),
        }
    }

    /// What the job's failure policy or, without one, the role's restart policy says.
    pub(super) fn response(&self, spec: &Spec) -> Response {
        match &spec.failure {
            _ if spec.closed.is_some() => Response::FailJob,
            Some(policy) => self.by_rules(&policy.rules),
            None => self.by_role(spec),
        }
    }

    fn by_rules(&self, rules: &[FailureRule]) -> Response {
        match rules.iter().find(|rule| self.matches(rule)) {
            None => Response::RestartJob { counts: true },
            Some(rule) => match rule.action {
                FailureAction::FailJob => Response::FailJob,
                FailureAction::RestartReplica => Response::Replace { counts: true },
                FailureAction::RestartJob => Response::RestartJob {
                    counts: rule.counts,
                },
            },
        }
    }

    fn matches(&self, rule: &FailureRule) -> bool {
        rule.roles
            .as_ref()
            .is_none_or(|roles| roles.contains(&self.replica.role))
            && rule
                .exit_codes
                .as_ref()
                .is_none_or(|codes| codes.contains(self.code()))
            && rule
                .reasons
                .as_ref()
                .is_none_or(|reasons| reasons.iter().any(|reason| self.has_reason(reason)))
    }

    fn by_role(&self, spec: &Spec) -> Response {
        match self.role.restart {
            RestartPolicy::Never => Response::FailJob,
            // Before a disruption: that is replaced without counting, and what runs out of memory
            // wherever it is put would be for ever.
            _ if self.is_permanent(spec) => Response::FailJob,
            _ if self.disrupted => Response::Replace { counts: false },
            RestartPolicy::ExitCode if !spec.retryable.contains(self.code()) => Response::FailJob,
            _ => Response::Replace { counts: true },
        }
    }

    fn is_permanent(&self, spec: &Spec) -> bool {
        let exit = self.pod.and_then(PodView::exit);
        exit.is_some_and(|exit| has_permanent_reason(exit, spec))
    }
}

/// True when the pod's replica has failed, also when the kubelet would restart its container.
pub(super) fn has_failed(spec: &Spec, role: &RoleSpec, pod: &PodView) -> bool {
    pod.phase == PodPhase::Failed || is_over_in_place(spec, role, pod)
}

fn is_over_in_place(spec: &Spec, role: &RoleSpec, pod: &PodView) -> bool {
    let for_good = |exit: &Exit| {
        exit.code != 0 && (has_permanent_reason(exit, spec) || !spec.retryable.contains(exit.code))
    };
    is_in_place(spec, role, pod).is_some_and(for_good)
}

/// True when the pod's replica is done, although the kubelet would restart its container or waits
/// for others.
pub(super) fn is_done_in_place(spec: &Spec, role: &RoleSpec, pod: &PodView) -> bool {
    is_in_place(spec, role, pod).is_some_and(|exit| exit.code == 0)
}

fn is_in_place<'a>(spec: &Spec, role: &RoleSpec, pod: &'a PodView) -> Option<&'a Exit> {
    let judged = spec.is_judged_in_place(role) && !pod.phase.is_final();
    judged.then(|| pod.exit()).flatten()
}

fn has_permanent_reason(exit: &Exit, spec: &Spec) -> bool {
    let reasons = spec.profile.permanent_reasons;
    exit.reason
        .as_ref()
        .is_some_and(|reason| reasons.contains(&reason.as_str()))
}
