//! What stands for replicas in the cluster: pods or, of an API that has them so, `batch/v1` Jobs.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ResourceExt as _};
use mxjob_core::job::{Attempt, Replica};
use mxjob_core::plan::{BatchView, PodView, Target};
use mxjob_core::role::Children;
use mxjob_core::wiring::{Wiring, labels};
use serde_json::json;

use super::cluster::Refusal;
use super::key::JobKey;
use super::reconcile::Operator;
use super::shelf::Version;
use super::throttle::Permit;
use super::watch;

/// What stands for a replica, as it was read.
pub(super) struct Child {
    pub(super) view: PodView,
    /// The watch shows it as the job's.
    pub(super) is_watched: bool,
    version: Version,
    batch: Option<BatchView>,
}

impl Child {
    fn of_pod(key: &JobKey, pod: &Pod) -> Self {
        Self {
            view: watch::pod(key.table(), pod),
            is_watched: watch::shows(key, pod),
            version: Version::of(pod.resource_version().as_deref()),
            batch: None,
        }
    }

    fn of_job(key: &JobKey, job: &BatchJob) -> Self {
        let batch = BatchView::of(job, key.table());
        Self {
            view: batch.clone().alone(),
            is_watched: watch::shows(key, job),
            version: Version::of(job.resource_version().as_deref()),
            batch: Some(batch),
        }
    }
}

impl Operator {
    /// Creates what stands for a replica.
    pub(super) async fn create_child(
        &self,
        key: &JobKey,
        permit: Permit,
        wiring: &Wiring<'_>,
        replica: Replica,
        attempt: Attempt,
    ) -> Result<(), Refusal> {
        let cluster = &self.cluster;
        let child = if key.table().children() == Children::Jobs {
            let job = wiring.batch_job(replica, attempt);
            let job = job.ok_or(Refusal::NoSuchReplica)?;
            Child::of_job(key, &cluster.create(key, permit, &job).await?)
        } else {
            let pod = wiring.pod(replica, attempt);
            let pod = pod.ok_or(Refusal::NoSuchReplica)?;
            Child::of_pod(key, &cluster.create(key, permit, &pod).await?)
        };
        self.metrics.pod_created();
        self.keep_child(key, child);
        Ok(())
    }

    /// Reads what stands for a replica; `None`: there is none.
    pub(super) async fn read_child(
        &self,
        key: &JobKey,
        name: &str,
    ) -> Result<Option<Child>, Refusal> {
        let cluster = &self.cluster;
        Ok(if key.table().children() == Children::Jobs {
            let found = cluster.read::<BatchJob>(key, name).await?;
            found.map(|job| Child::of_job(key, &job))
        } else {
            let found = cluster.read::<Pod>(key, name).await?;
            found.map(|pod| Child::of_pod(key, &pod))
        })
    }

    /// Pods of the job that an older operator may have made, by their labels, whichever watch should show them.
    pub(super) async fn older_pods(
        &self,
        key: &JobKey,
        labels: &[(&str, String)],
    ) -> Result<Vec<PodView>, Refusal> {
        let labels = labels
            .iter()
            .map(|(label, value)| format!("{label}={value}"));
        let labels = labels.collect::<Vec<_>>().join(",");
        let pods = self.cluster.list::<Pod>(key, &labels).await?;
        let own = pods.iter().filter(|pod| watch::is_of(key, *pod));
        Ok(own.map(|pod| watch::pod(key.table(), pod)).collect())
    }

    /// Puts these labels on the pods of a Job that go on without them, whichever the watch shows.
    pub(super) async fn label_pod_of_job(
        &self,
        key: &JobKey,
        target: &Target,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), Refusal> {
        let of_job = format!("{}={}", labels::BATCH, target.name);
        let is_bare = |pod: &&Pod| {
            let owner = labels::controller(&pod.metadata).map(|owner| &owner.uid);
            let has_all = labels
                .iter()
                .all(|(key, value)| pod.labels().get(key) == Some(value));
            let view = watch::pod(key.table(), pod);
            owner == Some(&target.uid) && !has_all && !view.deleting && !view.phase.is_final()
        };
        let pods = self.cluster.list::<Pod>(key, &of_job).await?;
        let mut found = false;
        for pod in pods.iter().filter(is_bare) {
            let (name, uid) = (pod.name_any(), pod.uid().unwrap_or_default());
            let meta = ObjectMeta {
                labels: Some(labels.clone()),
                ..ObjectMeta::default()
            };
            let permit = self.cluster.permit(key).await;
            let target = Target { name, uid };
            let labelled = self
                .cluster
                .mark::<Pod>(key, permit, &target, &meta)
                .await?;
            if let Some(pod) = labelled {
                tracing::info!(namespace = %key.namespace, job = %key.name, pod = %target.name, "the pod of a job has the labels by which it is found");
                found = true;
                self.keep_child(key, Child::of_pod(key, &pod));
            }
        }
        // What is not seen yet will be.
        found.then_some(()).ok_or(Refusal::NoSuchPod)
    }

    /// Gives what stands for a replica these labels and owners, if it still is that one; whether it is.
    pub(super) async fn mark_child(
        &self,
        key: &JobKey,
        permit: Permit,
        target: &Target,
        meta: &ObjectMeta,
    ) -> Result<bool, Refusal> {
        let cluster = &self.cluster;
        let child = if key.table().children() == Children::Jobs {
            let job = cluster.mark::<BatchJob>(key, permit, target, meta).await?;
            job.map(|job| Child::of_job(key, &job))
        } else {
            let pod = cluster.mark::<Pod>(key, permit, target, meta).await?;
            pod.map(|pod| Child::of_pod(key, &pod))
        };
        let is_it = child.is_some();
        if let Some(child) = child {
            self.keep_child(key, child);
        }
        Ok(is_it)
    }

    /// Ends the pod of the Job that stands for a replica; ended ones stay.
    pub(super) async fn stop_child(
        &self,
        key: &JobKey,
        permit: Permit,
        target: &Target,
    ) -> Result<(), Refusal> {
        let stop = json!({"metadata": {"uid": target.uid}, "spec": {"suspend": true}});
        let stopped = self.cluster.patch::<BatchJob>(key, permit, target, &stop);
        if let Some(job) = stopped.await? {
            self.keep_child(key, Child::of_job(key, &job));
        }
        Ok(())
    }

    /// Deletes what stands for a replica: a Job when its pods are gone, for the next one's would have
    /// their names.
    pub(super) async fn delete_child(
        &self,
        key: &JobKey,
        permit: Permit,
        target: &Target,
    ) -> Result<(), Refusal> {
        if key.table().children() == Children::Jobs {
            let how = DeleteParams::foreground();
            let deleted = self.cluster.delete::<BatchJob>(key, permit, target, how);
            deleted.await?;
        } else {
            let how = DeleteParams::background();
            let deleted = self.cluster.delete::<Pod>(key, permit, target, how);
            deleted.await?;
        }
        self.shared.world().doom_pod(key, target);
        Ok(())
    }

    /// Keeps what a write was answered with.
    pub(super) fn keep_child(&self, key: &JobKey, child: Child) {
        let Child {
            view,
            version,
            batch,
            ..
        } = child;
        let name = view.name.clone();
        if let Some(scope) = self.shared.world().scope(key) {
            match batch {
                Some(batch) => scope.batch.write(key, &name, batch, version),
                None => scope.pods.write(key, &name, view, version),
            }
        }
    }
}
