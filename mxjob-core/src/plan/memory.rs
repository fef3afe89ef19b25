//! What the planner remembers of each role between two looks: it stands in the job's status.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::world::World;
use super::{PodView, indexes};
use crate::api::v1::{JobStatus, ReplicaStatus};
use crate::job::{Attempt, Replica, Spec};
use crate::role::RoleId;

/// What is remembered of all roles of the spec.
pub(super) struct Memory {
    roles: BTreeMap<RoleId, RoleMemory>,
    /// Whole-job restarts so far: which life of the job this is.
    pub(super) life: i32,
    /// Those of them that the waits do not count any more.
    backoff_from: i32,
    /// Of roles that the spec does not have any more.
    retired: RoleMemory,
}

#[derive(Default)]
pub(super) struct RoleMemory {
    pub(super) started: BTreeSet<u32>,
    pub(super) completed: BTreeSet<u32>,
    pub(super) disrupted: BTreeSet<u32>,
    ended_at: BTreeMap<u32, Time>,
    attempts: BTreeMap<u32, i32>,
    backoff_from: BTreeMap<u32, i32>,
    /// Of pods whose container restarts are not in `in_place` yet; 0 once they are. Who has an entry
    /// has been restarted in place at some time.
    pub(super) container_restarts: BTreeMap<u32, i32>,
    restarts: i32,
    in_place: i32,
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
            backoff_from: status.backoff_from.unwrap_or(0),
            retired: retired(spec, status),
        }
    }

    /// Of a status that was lost the pods still tell which life they belong to.
    pub(super) fn learn(&mut self, world: &World<'_>) {
        let newest = world.pods.values().map(|pod| pod.attempt.job).max();
        if let Some(life) = newest.filter(|life| *life > self.life) {
            self.life = life;
        }
        for (replica, pod) in &world.pods {
            let known = self.attempt(*replica);
            if pod.attempt.job == known.job && pod.attempt.replica > known.replica {
                let attempts = &mut self.role_mut(replica.role).attempts;
                attempts.insert(replica.index, pod.attempt.replica);
            }
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
        let restarts = self.all_roles().map(|role| role.restarts);
        restarts.fold(0, i32::saturating_add)
    }

    /// Container restarts of all pods, those that are gone too.
    pub(super) fn in_place(&self) -> i32 {
        let restarts = self
            .all_roles()
            .flat_map(|role| role.container_restarts.values().chain([&role.in_place]));
        restarts.copied().fold(0, i32::saturating_add)
    }

    fn all_roles(&self) -> impl Iterator<Item = &RoleMemory> {
        self.roles.values().chain([&self.retired])
    }

    /// True when a pod of this life of the job has run.
    pub(super) fn has_begun(&self) -> bool {
        let begun = |role: &RoleMemory| !role.started.is_empty() || !role.completed.is_empty();
        self.roles.values().any(begun)
    }

    /// Restarts of the job since the waits last started over.
    pub(super) fn waits_of_job(&self) -> i32 {
        self.life.saturating_sub(self.backoff_from)
    }

    /// Replacements of the replica since its waits last started over.
    pub(super) fn waits_of(&self, replica: Replica) -> i32 {
        let from = self
            .role(replica.role)
            .and_then(|role| role.backoff_from.get(&replica.index));
        let attempt = self.attempt(replica).replica;
        attempt.saturating_sub(from.copied().unwrap_or(0))
    }

    /// The replica has run long: its waits start over, and so do the job's, which ran as long.
    pub(super) fn start_waits_over(&mut self, replica: Replica) {
        let attempt = self.attempt(replica).replica;
        if attempt > 0 {
            let role = self.role_mut(replica.role);
            role.backoff_from.insert(replica.index, attempt);
        }
        self.backoff_from = self.life;
    }

    /// When the replica's pod was found gone: now, unless that is known already.
    pub(super) fn vanished_at(&mut self, replica: Replica, now: Time) -> Timestamp {
        let role = self.role_mut(replica.role);
        role.ended_at.entry(replica.index).or_insert(now).0
    }

    /// True while a pod that vanished is still to be judged, or its replacement has to wait.
    pub(super) fn has_vanished(&self, replica: Replica) -> bool {
        !self.has_completed(replica) && self.ended_at(replica).is_some()
    }

    /// When the replica ended, if its pod does not tell.
    pub(super) fn ended_at(&self, replica: Replica) -> Option<Timestamp> {
        let role = self.role(replica.role);
        role.and_then(|role| Some(role.ended_at.get(&replica.index)?.0))
    }

    pub(super) fn was_disrupted(&self, replica: Replica) -> bool {
        self.role(replica.role)
            .is_some_and(|role| role.disrupted.contains(&replica.index))
    }

    /// The next attempt of a replica begins.
    pub(super) fn replace(&mut self, replica: Replica, counts: bool) {
        let role = self.role_mut(replica.role);
        let attempt = role.attempts.entry(replica.index).or_default();
        *attempt = attempt.saturating_add(1);
        role.restarts = role.restarts.saturating_add(i32::from(counts));
        role.forget(replica.index);
        role.book(|index| index == replica.index);
    }

    /// The replica is not wanted any more. Its pod is of an earlier attempt, should it be again.
    pub(super) fn retire(&mut self, replica: Replica) {
        self.replace(replica, false);
        let attempt = self.attempt(replica).replica;
        let role = self.role_mut(replica.role);
        role.backoff_from.insert(replica.index, attempt);
    }

    /// The restart of the job that has just begun is not one that the next waits for.
    pub(super) fn does_not_wait(&mut self) {
        self.backoff_from = self.backoff_from.saturating_add(1);
    }

    /// The next life of the job begins.
    pub(super) fn restart(&mut self) {
        self.life = self.life.saturating_add(1);
        self.forget_life();
    }

    /// Forgets what this life of the job has done; counts stay.
    pub(super) fn forget_life(&mut self) {
        for role in self.roles.values_mut() {
            role.book(|_| true);
            *role = RoleMemory {
                container_restarts: std::mem::take(&mut role.container_restarts),
                restarts: role.restarts,
                in_place: role.in_place,
                ..RoleMemory::default()
            };
        }
    }

    /// Writes what is remembered of the spec's roles into the status.
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
        status.backoff_from = (self.backoff_from > 0).then_some(self.backoff_from);
    }
}

impl RoleMemory {
    fn load(status: &ReplicaStatus, replicas: u32) -> Self {
        let set = |text: &Option<String>| indexes::parse(text.as_deref(), replicas);
        let mut memory = Self {
            started: set(&status.started_indexes),
            completed: set(&status.completed_indexes),
            disrupted: set(&status.disrupted_indexes),
            ended_at: by_index(&status.ended_at),
            attempts: by_index(&status.attempts),
            backoff_from: by_index(&status.backoff_from),
            container_restarts: by_index(&status.container_restarts),
            restarts: status.restarts.max(0),
            in_place: status.in_place_restarts.max(0),
        };
        memory.book(|index| index >= replicas);
        memory.ended_at.retain(|index, _| *index < replicas);
        memory
            .container_restarts
            .retain(|index, restarts| *index < replicas && *restarts >= 0);
        memory
    }

    /// Forgets the replica's last pod.
    pub(super) fn forget(&mut self, index: u32) {
        self.started.remove(&index);
        self.disrupted.remove(&index);
        self.ended_at.remove(&index);
    }

    /// The replica has a pod that has not succeeded.
    pub(super) fn found(&mut self, index: u32) {
        self.ended_at.remove(&index);
    }

    /// The replica has succeeded, at a time that its pod may tell no more.
    pub(super) fn succeeded(&mut self, index: u32, at: Option<Time>) {
        self.completed.insert(index);
        self.ended_at.extend(at.map(|at| (index, at)));
    }

    /// Books the container restarts of pods that go.
    fn book(&mut self, goes: impl Fn(u32) -> bool) {
        for (index, restarts) in &mut self.container_restarts {
            if goes(*index) {
                self.in_place = self.in_place.saturating_add((*restarts).max(0));
                *restarts = 0;
            }
        }
    }

    fn store(&self, status: &mut ReplicaStatus) {
        status.started_indexes = indexes::render(&self.started);
        status.completed_indexes = indexes::render(&self.completed);
        status.disrupted_indexes = indexes::render(&self.disrupted);
        status.ended_at = by_text(&self.ended_at);
        status.attempts = by_text(&self.attempts);
        status.backoff_from = by_text(&self.backoff_from);
        status.container_restarts = by_text(&self.container_restarts);
        status.restarts = self.restarts;
        status.in_place_restarts = self.in_place;
    }
}

/// Counts of roles that the spec does not have.
fn retired(spec: &Spec, status: &JobStatus) -> RoleMemory {
    let mut all = RoleMemory::default();
    let gone = status
        .replica_statuses
        .iter()
        .filter(|(key, _)| spec.role_named(key).is_none());
    for (_, role) in gone {
        let role = RoleMemory::load(role, 0);
        all.restarts = all.restarts.saturating_add(role.restarts);
        all.in_place = all.in_place.saturating_add(role.in_place);
    }
    all
}

/// What is no index is left out.
fn by_index<V: Clone>(map: &BTreeMap<String, V>) -> BTreeMap<u32, V> {
    let entry = |(index, value): (&String, &V)| Some((index.parse().ok()?, value.clone()));
    map.iter().filter_map(entry).collect()
}

fn by_text<V: Clone>(map: &BTreeMap<u32, V>) -> BTreeMap<String, V> {
    map.iter()
        .map(|(index, value)| (index.to_string(), value.clone()))
        .collect()
}
