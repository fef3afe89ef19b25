//! The planner: what is, in; what to do next, out. Total, level-triggered and deterministic.
//!
//! All memory is in the API: the job's status and the pods' annotations. Time is an argument.

mod accept;
mod account;
mod batch;
mod conditions;
mod counts;
mod create;
mod debounce;
mod draft;
mod failure;
mod finish;
mod indexes;
mod inherited;
mod look;
mod memory;
mod milestones;
mod observed;
mod rescale;
mod restart;
mod run;
mod stalled;
mod success;
mod suspend;
mod warnings;
mod wave;
mod world;

use std::borrow::Cow;

use jiff::Timestamp;

use crate::api::v1::JobStatus;
use crate::job::{Attempt, Job, Replica};
use crate::wiring::names;
use draft::Draft;
use world::World;

pub use account::{Account, Facts, Start};
pub use batch::BatchView;
pub use debounce::Debounce;
pub use look::Missing;
pub use observed::{ConfigMapView, Exit, Observed, PodPhase, PodView, ServiceView};
pub use wave::Wave;

/// What to do next about one job, in this order: write the status (and stop when that fails), carry
/// out the actions (services and ConfigMaps first; the rest in any order, side by side), publish the events, look
/// again at `wake_at`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The whole new status; `None`: it is right as it is.
    pub status: Option<JobStatus>,
    /// What to create and delete.
    pub actions: Vec<Action>,
    /// What to tell the user.
    pub events: Vec<Event>,
    /// When to look again although nothing happens.
    pub wake_at: Option<Timestamp>,
}

/// One thing to create or delete. Names are deterministic and deletes carry the uid, so
/// AlreadyExists, NotFound and Conflict are answers, not errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create the service of a replica ([`crate::wiring::Wiring::service`]).
    CreateService(Replica),
    /// Create the one service of the job ([`crate::wiring::Wiring::job_service`]).
    CreateJobService,
    /// Create the ConfigMap with the job's layout ([`crate::wiring::Wiring::config_map`]).
    CreateConfigMap,
    /// Create the pod of a replica ([`crate::wiring::Wiring::pod`]), or the `batch/v1` Job where
    /// replicas are such ([`crate::wiring::Wiring::batch_job`]); so below.
    CreatePod(Replica, Attempt),
    /// Put the labels back on the pod of a replica, if it is still the one of that name and uid: those
    /// of [`crate::wiring::Wiring::pod`].
    LabelPod(Replica, Target),
    /// Put the labels of the replica on the pod that the `batch/v1` Job of that name and uid has, by which its
    /// service and the operator's watch find it: an older operator's Job gives it others.
    LabelPodOfJob(Replica, Target),
    /// The same as [`Action::LabelPod`], and make the job its owner, if nobody is: an older operator has left it.
    AdoptPod(Replica, Target),
    /// The same for the service of a replica.
    AdoptService(Replica, Target),
    /// Let the `batch/v1` Job of that name and uid end its pod and make no other; ended ones stay.
    StopPod(Target),
    /// Delete the pod of that name and uid.
    DeletePod(Target),
    /// Delete the service of that name and uid.
    DeleteService(Target),
    /// Delete the ConfigMap of that name and uid.
    DeleteConfigMap(Target),
    /// Delete the job itself, its dependants in the background.
    DeleteJob,
}

/// An object to delete, if it is still the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name.
    pub name: String,
    /// Uid, the precondition.
    pub uid: String,
}

impl Target {
    fn of(pod: &PodView) -> Self {
        Self {
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        }
    }

    fn of_service(service: &ServiceView) -> Self {
        Self {
            name: service.name.clone(),
            uid: service.uid.clone(),
        }
    }
}

/// Something to tell the user, about the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// How bad it is.
    pub kind: EventKind,
    /// One word.
    pub reason: Cow<'static, str>,
    /// A sentence.
    pub message: String,
}

/// How bad an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

impl Event {
    /// An event about something that is as it should be.
    pub fn normal(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            kind: EventKind::Normal,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// An event that somebody should look at.
    pub fn warning(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            kind: EventKind::Warning,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// What to do next about a job.
pub fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let job = observed.job;
    if job.meta.deleting || job.meta.managed_elsewhere {
        // Of a deleted job the owner references let the cluster collect the rest.
        return Plan::default();
    }
    let mut draft = Draft::new(job, now);
    let world = World::of(observed);
    if job.status.is_paused() {
        // What has no owner would be left when the job is deleted.
        look::adopt(&mut draft, &world);
        return draft.into_actions();
    }
    inherited::complete(&mut draft);
    match &job.spec {
        Ok(spec) if job.status.is_finished() => finish::look_after(&mut draft, &world, spec),
        Ok(spec) if spec.suspend => suspend::suspend(&mut draft, &world, spec),
        Ok(spec) => run::run(&mut draft, &world, spec),
        Err(problems) => finish::refuse(&mut draft, &world, problems),
    }
    look::adopt(&mut draft, &world);
    draft.into_plan()
}

impl Action {
    /// Name of the object that it creates or deletes.
    pub fn object(&self, job: &Job) -> String {
        match self {
            Self::CreateService(replica) | Self::CreatePod(replica, _) => {
                names::replica(job, *replica)
            }
            Self::LabelPod(_, target)
            | Self::LabelPodOfJob(_, target)
            | Self::AdoptPod(_, target)
            | Self::AdoptService(_, target)
            | Self::StopPod(target)
            | Self::DeletePod(target)
            | Self::DeleteService(target)
            | Self::DeleteConfigMap(target) => target.name.clone(),
            Self::CreateConfigMap => names::config_map(job),
            Self::CreateJobService | Self::DeleteJob => job.meta.name.clone(),
        }
    }
    /// True for what pods need: it is to be there before them.
    pub const fn comes_first(&self) -> bool {
        matches!(
            self,
            Self::CreateService(_) | Self::CreateJobService | Self::CreateConfigMap
        )
    }
}
