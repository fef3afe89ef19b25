//! What the planner remembers of each role between two looks: it stands in the job's status.

use std::collections::{BTreeMap, BTreeSet};

use super::{PodView, indexes};
use crate::api::v1::{JobStatus, ReplicaStatus};
use crate::job::{Attempt, Replica, Spec};
use crate::role::RoleId;

/// What is remembered of all roles of the spec.
pub(super) struct Memory {
    roles: BTreeMap<RoleId, RoleMemory>,
    /// Whole-job restarts so far: which life of the job this is.
    pub(super) life: i32,
}

#[derive(Default)]
pub(super) struct RoleMemory {
    pub(super) started: BTreeSet<u32>,
    pub(super) completed: BTreeSet<u32>,
    pub(super) attempts: BTreeMap<u32, i32>,
    pub(super) restarts: i32,
    pub(super) in_place: i32,
}

impl Memory {
    pub(super) fn load(spec: &Spec, status: &JobStatus) -> Self {
        let load = |role: &crate::job::RoleSpec| {
            let known = status
                .replica_statuses
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(role.role.name));
            (
                role.id,
                known
                    .map(|(_, known)| RoleMemory::load(known, role.replicas))
                    .unwrap_or_default(),
            )
        };
        Self {
            roles: spec.roles.iter().map(load).collect(),
            life: status.restarts.unwrap_or(0).max(0),
        }
    }

    pub(super) fn role(&self, id: RoleId) -> Option<&RoleMemory> {
        self.roles.get(&id)
    }

    pub(super) fn role_mut(&mut self, id: RoleId) -> &mut RoleMemory {
        self.roles.entry(id).or_default()
    }

    pub(super) fn has_completed(&self, replica: Replica) -> bool {
        self.role(replica.role)
            .is_some_and(|role| role.completed.contains(&replica.index))
    }

    pub(super) fn has_started(&self, replica: Replica) -> bool {
        self.role(replica.role)
            .is_some_and(|role| role.started.contains(&replica.index))
    }

    /// Which attempt a pod of this replica should be of.
    pub(super) fn attempt(&self, replica: Replica) -> Attempt {
        let attempts = self
            .role(replica.role)
            .and_then(|role| role.attempts.get(&replica.index));
        Attempt {
            job: self.life,
            replica: attempts.copied().unwrap_or(0),
        }
    }

    /// True when the pod's life is over for the planner: it was counted and is to be replaced.
    pub(super) fn is_stale(&self, replica: Replica, pod: &PodView) -> bool {
        let wanted = self.attempt(replica);
        pod.attempt.job < wanted.job
            || (pod.attempt.job == wanted.job && pod.attempt.replica < wanted.replica)
    }

    /// Replacements of all replicas that count.
    pub(super) fn replacements(&self) -> i32 {
        let restarts = self.roles.values().map(|role| role.restarts);
        restarts.fold(0, i32::saturating_add)
    }

    /// Container restarts of pods that are gone.
    pub(super) fn in_place(&self) -> i32 {
        let restarts = self.roles.values().map(|role| role.in_place);
        restarts.fold(0, i32::saturating_add)
    }

    /// Forgets what this life of the job has done; counts stay.
    pub(super) fn forget_life(&mut self) {
        for role in self.roles.values_mut() {
            role.started.clear();
            role.completed.clear();
            role.attempts.clear();
        }
    }

    /// Writes what is remembered into the status; roles that the spec no longer has keep their entry.
    pub(super) fn store(&self, spec: &Spec, status: &mut JobStatus) {
        for role in &spec.roles {
            if let Some(memory) = self.roles.get(&role.id) {
                memory.store(
                    status
                        .replica_statuses
                        .entry(role.role.name.to_owned())
                        .or_default(),
                );
            }
        }
        status.restarts = (self.life > 0).then_some(self.life);
    }
}

impl RoleMemory {
    fn load(status: &ReplicaStatus, replicas: u32) -> Self {
        let attempt = |(index, count): (&String, &i32)| Some((index.parse().ok()?, *count));
        Self {
            started: indexes::parse(status.started_indexes.as_deref(), replicas),
            completed: indexes::parse(status.completed_indexes.as_deref(), replicas),
            attempts: status
                .attempts
                .iter()
                .filter_map(attempt)
                .filter(|(index, _)| *index < replicas)
                .collect(),
            restarts: status.restarts.max(0),
            in_place: status.in_place_restarts.max(0),
        }
    }

    fn store(&self, status: &mut ReplicaStatus) {
        status.started_indexes = indexes::render(&self.started);
        status.completed_indexes = indexes::render(&self.completed);
        status.attempts = self
            .attempts
            .iter()
            .map(|(index, count)| (index.to_string(), *count))
            .collect();
        status.restarts = self.restarts;
        status.in_place_restarts = self.in_place;
    }
}
