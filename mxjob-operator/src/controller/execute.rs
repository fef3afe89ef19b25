//! Carries out what the planner says: services first, the rest side by side, a slice at a time.

use std::collections::BTreeMap;
use std::future;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DeleteParams;
use mxjob_core::Job;
use mxjob_core::job::{Attempt, Replica};
use mxjob_core::plan::{Action, ConfigMapView, ServiceView, Target};
use mxjob_core::wiring::{self, Addresses, Wiring, names};
use tokio::time::Instant;

use super::cluster::Refusal;
use super::key::JobKey;
use super::log;
use super::reconcile::Operator;
use super::stranger::{Id, Stranger};
use super::throttle::Permit;
use super::unsaid::Unsaid;
use super::watch;

/// Requests of one job before it is looked at anew. Each slice waits for its last request, so a
/// small one leaves the server idle; others have their turns meanwhile.
const SLICE: usize = 1000;

/// What became of a plan's actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Carried out.
    pub(super) done: usize,
    /// Of these, names that belong to somebody else.
    pub(super) taken: usize,
    /// Tried in vain.
    pub(super) failed: usize,
    /// Not yet tried.
    pub(super) left: usize,
}

impl Tally {
    /// Nothing is left to do, or it cannot go on: time to say what was done.
    pub(super) fn is_wave_over(self) -> bool {
        self.left == 0 || self.failed > 0 || self.taken > 0
    }
}

/// What an action came to.
pub(super) enum Outcome {
    /// It is done now.
    Done,
    /// It was done already.
    Already,
    /// The name belongs to somebody else, who is remembered.
    Taken(String),
    /// It could not be done.
    Failed(Refusal),
}

/// Carries out the first of `actions`.
pub(super) async fn execute(
    operator: &Operator,
    key: &JobKey,
    job: &Job,
    actions: &[Action],
    unsaid: &mut Unsaid,
) -> Tally {
    let wiring = job
        .spec
        .as_ref()
        .ok()
        .map(|spec| Wiring::new(job, spec, Addresses::Cluster))
        .map(|wiring| wiring.with_accelerators(&operator.accelerators));
    let worker = Worker {
        operator,
        key,
        job,
        wiring: wiring.as_ref(),
    };
    let (first, others): (Vec<&Action>, Vec<&Action>) =
        actions.iter().partition(|action| action.comes_first());
    let mut tally = Tally {
        left: actions.len(),
        ..Tally::default()
    };
    worker.run(slice(&first, SLICE), &mut tally, unsaid).await;
    if tally.failed > 0 || tally.taken > 0 || first.len() > SLICE {
        let mut deletes = others;
        deletes.retain(|action| !matches!(action, Action::CreatePod(..)));
        worker.run(slice(&deletes, SLICE), &mut tally, unsaid).await;
    } else {
        let rest = SLICE - first.len();
        worker.run(slice(&others, rest), &mut tally, unsaid).await;
    }
    if tally.done > 0 {
        let (done, left) = (tally.done, tally.left);
        tracing::debug!(
            namespace = %key.namespace,
            job = %key.name,
            done,
            left,
            "plan carried out"
        );
    }
    tally
}

fn slice<'a, 'b>(actions: &'a [&'b Action], most: usize) -> &'a [&'b Action] {
    actions.get(..most).unwrap_or(actions)
}

struct Worker<'a> {
    operator: &'a Operator,
    key: &'a JobKey,
    job: &'a Job,
    wiring: Option<&'a Wiring<'a>>,
}

impl Worker<'_> {
    async fn run(&self, actions: &[&Action], tally: &mut Tally, unsaid: &mut Unsaid) {
        // Nothing is made ready before it may be sent: what waits takes no memory.
        let permits = self.operator.cluster.permits(self.key, 0..actions.len());
        let mut outcomes: Vec<_> = permits
            .take_while(|_| future::ready(self.is_to_go_on()))
            .map(|(place, permit)| async move {
                let action = *actions.get(place)?;
                Some((place, action, self.act(action, permit).await))
            })
            .buffer_unordered(usize::MAX)
            .filter_map(future::ready)
            .collect()
            .await;
        outcomes.sort_unstable_by_key(|(place, ..)| *place);
        for (_, action, outcome) in outcomes {
            tally.left -= 1;
            tally.taken += usize::from(matches!(outcome, Outcome::Taken(_)));
            match outcome {
                Outcome::Failed(_) => tally.failed += 1,
                Outcome::Done | Outcome::Already | Outcome::Taken(_) => tally.done += 1,
            }
            self.tell(action, &outcome, unsaid);
        }
    }

    /// Nobody has stopped the operator, changed or paused the job or asked for its end since it was
    /// looked at.
    fn is_to_go_on(&self) -> bool {
        if self.operator.stop.is_due() {
            return false;
        }
        let now = self.operator.shared.world().job(self.key);
        let paused = self.job.status.is_paused();
        now.is_some_and(|now| now.meta == self.job.meta && now.status.is_paused() == paused)
    }

    async fn act(&self, action: &Action, permit: Permit) -> Outcome {
        match self.request(action, permit).await {
            Ok(outcome) => outcome,
            Err(refusal) if refusal.is_already_exists() => self
                .look_who_is_there(action)
                .await
                .unwrap_or_else(Outcome::Failed),
            Err(refusal) => Outcome::Failed(refusal),
        }
    }

    async fn request(&self, action: &Action, permit: Permit) -> Result<Outcome, Refusal> {
        let (operator, key) = (self.operator, self.key);
        let cluster = &operator.cluster;
        match action {
            Action::CreateService(_) | Action::CreateJobService => {
                let service = self.service(action).ok_or(Refusal::NoSuchReplica)?;
                let service = cluster.create(key, permit, &service).await?;
                self.operator.created_service(key, &service);
            }
            Action::CreateConfigMap => {
                let config_map = self.wiring.and_then(Wiring::config_map);
                let config_map = config_map.ok_or(Refusal::NoSuchReplica)?;
                let config_map = cluster.create(key, permit, &config_map).await?;
                self.operator.created_config_map(key, &config_map);
            }
            Action::CreatePod(replica, attempt) => {
                let wiring = self.wiring.ok_or(Refusal::NoSuchReplica)?;
                let created = operator.create_child(key, permit, wiring, *replica, *attempt);
                created.await?;
            }
            Action::LabelPod(replica, target) => {
                let labels = self.labels(*replica).ok_or(Refusal::NoSuchReplica)?;
                let meta = ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                };
                if operator.mark_child(key, permit, target, &meta).await? {
                    let id = Id::Pod(target.name.clone());
                    self.operator.shared.world().strangers.part(key, &id);
                    let (namespace, job, pod) = (&key.namespace, &key.name, &target.name);
                    if target.name == names::replica(self.job, *replica) {
                        tracing::warn!(%namespace, %job, %pod, "somebody took labels off the pod: they are back");
                    } else {
                        tracing::info!(%namespace, %job, %pod, "the pod of an older operator has this one's labels");
                    }
                }
            }
            Action::LabelPodOfJob(replica, target) => {
                let labels = self.labels(*replica).ok_or(Refusal::NoSuchReplica)?;
                drop(permit);
                operator.label_pod_of_job(key, target, &labels).await?;
            }
            Action::AdoptPod(replica, target) => {
                let meta = self.adopted(*replica);
                if operator.mark_child(key, permit, target, &meta).await? {
                    self.tell_adopted(target);
                }
            }
            Action::AdoptService(replica, target) => {
                let meta = self.adopted(*replica);
                let adopted = cluster.mark::<Service>(key, permit, target, &meta).await?;
                if let Some(service) = adopted {
                    operator.created_service(key, &service);
                    self.tell_adopted(target);
                }
            }
            Action::StopPod(target) => operator.stop_child(key, permit, target).await?,
            Action::DeletePod(target) => operator.delete_child(key, permit, target).await?,
            Action::DeleteService(target) => {
                cluster
                    .delete::<Service>(key, permit, target, DeleteParams::background())
                    .await?;
                self.operator.shared.world().doom_service(key, target);
            }
            Action::DeleteConfigMap(target) => {
                cluster
                    .delete::<ConfigMap>(key, permit, target, DeleteParams::background())
                    .await?;
                if let Some(scope) = self.operator.shared.world().scope(key) {
                    scope.config_maps.doom(key, &target.name, &target.uid);
                }
            }
            Action::DeleteJob => {
                cluster.delete_job(key, permit, &self.job.meta.uid).await?;
                if let Some(scope) = self.operator.shared.world().scope(key) {
                    scope.jobs.doom(key, &key.name, &self.job.meta.uid);
                }
            }
        }
        Ok(Outcome::Done)
    }

    fn labels(&self, replica: Replica) -> Option<BTreeMap<String, String>> {
        let pod = self.wiring?.pod(replica, Attempt::default())?;
        pod.metadata.labels
    }

    /// The job as the owner, and the labels of that replica if the job's spec knows it.
    fn adopted(&self, replica: Replica) -> ObjectMeta {
        ObjectMeta {
            labels: self.labels(replica),
            owner_references: Some(vec![wiring::owner(self.job)]),
            ..ObjectMeta::default()
        }
    }

    fn tell_adopted(&self, target: &Target) {
        let (namespace, job, object) = (&self.key.namespace, &self.key.name, &target.name);
        tracing::info!(%namespace, %job, %object, "an older operator has left it: it is the job's now");
    }

    fn service(&self, action: &Action) -> Option<Service> {
        match action {
            Action::CreateService(replica) => self.wiring?.service(*replica),
            _ => self.wiring.map(Wiring::job_service),
        }
    }

    /// The name of an object to create is taken: by one of the job's own that the watch has
    /// not shown yet, or by somebody else.
    async fn look_who_is_there(&self, action: &Action) -> Result<Outcome, Refusal> {
        let (operator, key, name) = (self.operator, self.key, action.object(self.job));
        let cluster = &operator.cluster;
        let stranger = match action {
            Action::CreatePod(..) => match operator.read_child(key, &name).await? {
                Some(child) if child.is_watched => {
                    operator.keep_child(key, child);
                    return Ok(Outcome::Already);
                }
                found => found.map(|child| Stranger::Pod(Box::new(child.view))),
            },
            Action::CreateConfigMap => match cluster.read::<ConfigMap>(key, &name).await? {
                Some(found) if watch::is_watched(key, &found) => {
                    operator.created_config_map(key, &found);
                    return Ok(Outcome::Already);
                }
                found => found.map(|found| Stranger::ConfigMap(ConfigMapView::of(&found))),
            },
            _ => match cluster.read::<Service>(key, &name).await? {
                Some(service) if watch::shows(key, &service) => {
                    operator.created_service(key, &service);
                    return Ok(Outcome::Already);
                }
                found => {
                    found.map(|service| Stranger::Service(ServiceView::of(&service, key.table())))
                }
            },
        };
        let Some(stranger) = stranger else {
            return Ok(Outcome::Already);
        };
        let ours = stranger.is_left() || stranger.owner() == Some(self.job.meta.uid.as_str());
        operator
            .shared
            .world()
            .strangers
            .meet(key, stranger, Instant::now());
        if ours {
            return Ok(Outcome::Already);
        }
        Ok(Outcome::Taken(format!(
            "{name} already exists and is not this job's: delete or rename it"
        )))
    }

    fn tell(&self, action: &Action, outcome: &Outcome, unsaid: &mut Unsaid) {
        let is_news = matches!(outcome, Outcome::Failed(refusal) if unsaid.is_news(refusal));
        log::tell(self.key, self.job, action, outcome, is_news);
        let error = match outcome {
            Outcome::Already => return,
            Outcome::Failed(refusal) if !refusal.is_final() => return,
            Outcome::Done => None,
            Outcome::Taken(message) => Some(message.clone()),
            Outcome::Failed(refusal) => Some(refusal.to_string()),
        };
        let result = error.as_deref().map_or(Ok(()), Err);
        if let Some(event) = unsaid.wave.add(self.job, action, result) {
            self.operator.recorder.tell(self.job, event);
        }
    }
}
