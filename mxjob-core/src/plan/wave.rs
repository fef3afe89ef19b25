//! What is said about objects that come and go: of a large job in sums, one event per role and wave.

use std::collections::BTreeMap;

use super::{Action, Event};
use crate::job::{Job, Replica};
use crate::role::{Children, RoleId};
use crate::wiring::{layout, names};

/// Jobs of more replicas than this have their objects summed up.
const MANY: u32 = 20;

/// The actions of one wave: from the first until all that the planner wants is done.
#[derive(Debug, Default)]
pub struct Wave {
    sums: BTreeMap<(Deed, Option<RoleId>), Sum>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    DeletePod,
    DeleteBatch,
    DeleteService,
    DeleteConfigMap,
    DeleteJob,
    CreateService,
    CreateConfigMap,
    CreatePod,
    CreateBatch,
}

/// The same deed on replicas of one role: done, and failed.
#[derive(Debug, Default)]
struct Sum {
    done: Range,
    failed: Range,
    /// The first of them.
    error: String,
}

/// How many objects, the first and the last of them by index.
#[derive(Debug, Default)]
struct Range {
    count: usize,
    first: Option<(u32, String)>,
    last: Option<(u32, String)>,
}

impl Wave {
    /// True when nothing is to be said.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Notes that an action was tried: done, or the error. What is to be said at once is returned.
    pub fn add(&mut self, job: &Job, action: &Action, result: Result<(), &str>) -> Option<Event> {
        let many = job.spec.as_ref().is_ok_and(|spec| spec.wanted() > MANY);
        let (deed, name) = (Deed::of(job, action)?, action.object(job));
        let replica = names::of_pod(job.table, &job.meta.name, &name).map(|(replica, _)| replica);
        let mut single = Self::default();
        let wave = if many { &mut *self } else { &mut single };
        let sum = wave
            .sums
            .entry((deed, replica.map(|replica| replica.role)))
            .or_default();
        match result {
            Ok(()) => sum.done.add(replica, name),
            Err(error) => {
                if sum.failed.count == 0 {
                    error.clone_into(&mut sum.error);
                }
                sum.failed.add(replica, name);
            }
        }
        single.end().pop()
    }

    /// The wave is over: what is to be said about it.
    pub fn end(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.sums)
            .into_iter()
            .flat_map(|((deed, _), sum)| [sum.success(deed), sum.failure(deed)])
            .flatten()
            .collect()
    }
}

impl Deed {
    /// `None`: nothing is said about it.
    fn of(job: &Job, action: &Action) -> Option<Self> {
        let is_batch = job.table.children() == Children::Jobs;
        Some(match action {
            Action::CreatePod(..) if is_batch => Self::CreateBatch,
            Action::DeletePod(_) if is_batch => Self::DeleteBatch,
            Action::CreateService(_) | Action::CreateJobService => Self::CreateService,
            Action::CreateConfigMap => Self::CreateConfigMap,
            Action::CreatePod(..) => Self::CreatePod,
            Action::LabelPod(..)
            | Action::LabelPodOfJob(..)
            | Action::StopPod(_)
            | Action::AdoptPod(..)
            | Action::AdoptService(..) => return None,
            Action::DeletePod(_) => Self::DeletePod,
            Action::DeleteService(_) => Self::DeleteService,
            Action::DeleteConfigMap(_) => Self::DeleteConfigMap,
            Action::DeleteJob => Self::DeleteJob,
        })
    }

    /// As in `SuccessfulCreatePod`.
    const fn name(self) -> &'static str {
        match self {
            Self::CreatePod => "CreatePod",
            Self::CreateService => "CreateService",
            Self::CreateConfigMap => "CreateConfigMap",
            Self::DeleteConfigMap => "DeleteConfigMap",
            Self::DeletePod => "DeletePod",
            Self::DeleteService => "DeleteService",
            Self::CreateBatch => "CreateJob",
            Self::DeleteJob | Self::DeleteBatch => "DeleteJob",
        }
    }

    const fn object(self) -> &'static str {
        match self {
            Self::CreatePod | Self::DeletePod => "pod",
            Self::CreateService | Self::DeleteService => "service",
            Self::CreateConfigMap | Self::DeleteConfigMap => "config map",
            Self::CreateBatch | Self::DeleteBatch | Self::DeleteJob => "job",
        }
    }

    /// The verb, done and being done.
    const fn verbs(self) -> (&'static str, &'static str) {
        match self {
            Self::CreatePod | Self::CreateBatch | Self::CreateService | Self::CreateConfigMap => {
                ("Created", "creating")
            }
            _ => ("Deleted", "deleting"),
        }
    }
}

impl Sum {
    fn success(&self, deed: Deed) -> Option<Event> {
        let (object, (done, _)) = (deed.object(), deed.verbs());
        let names = self.done.names()?;
        if deed == Deed::CreateConfigMap {
            let message = format!(
                "The layout of the job is too long for its variable: it names one replica of each role, \
                 the whole is in ConfigMap {names}, mounted at {}",
                layout::PATH
            );
            return Some(Event::normal("MXConfigShortened", message));
        }
        let message = match self.done.count {
            1 => format!("{done} {object}: {names}"),
            many => format!("{done} {many} {object}s: {names}"),
        };
        Some(Event::normal(format!("Successful{}", deed.name()), message))
    }

    fn failure(&self, deed: Deed) -> Option<Event> {
        let (object, (_, doing)) = (deed.object(), deed.verbs());
        let (names, error) = (self.failed.names()?, &self.error);
        let message = match self.failed.count {
            1 => format!("Error {doing}: {error}"),
            many => format!("Error {doing} {many} {object}s ({names}): {error}"),
        };
        Some(Event::warning(format!("Failed{}", deed.name()), message))
    }
}

impl Range {
    fn add(&mut self, replica: Option<Replica>, name: String) {
        let index = replica.map_or(0, |replica| replica.index);
        self.count += 1;
        if self.first.as_ref().is_none_or(|(first, _)| index < *first) {
            self.first = Some((index, name.clone()));
        }
        if self.last.as_ref().is_none_or(|(last, _)| index >= *last) {
            self.last = Some((index, name));
        }
    }

    fn names(&self) -> Option<String> {
        let ((_, first), (_, last)) = self.first.as_ref().zip(self.last.as_ref())?;
        Some(if self.count == 1 {
            first.clone()
        } else {
            format!("{first} .. {last}")
        })
    }
}
