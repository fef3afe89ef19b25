//! What users and strangers do to a job and its objects.

use k8s_openapi::api::core::v1::{Pod, Service};
use mxjob_core::api::v1::JobStatus;
use mxjob_core::model::{Deletion, Part, Preconditions, StoredJob};
use mxjob_core::wiring::{labels, names};
use serde_json::json;

use super::life::{Life, owner};
use super::schedule::Op;
use crate::support::{MX, annotated, set};

impl Life<'_> {
    pub(crate) fn user(&mut self, op: &Op) {
        match *op {
            Op::Vanish(which) => self.delete(which, &Deletion::now()),
            Op::Delete(which) => self.delete(which, &Deletion::default()),
            Op::Drain(which) => {
                if let Some(name) = self.pick(which) {
                    self.history.lost += 1;
                    self.cluster.drain(&name, self.now);
                }
            }
            Op::Suspend(suspend) => self.edit("spec.runPolicy.suspend", json!(suspend)),
            Op::Scale(worker, count) => self.scale(worker, count),
            Op::Edit(path, value) => {
                self.history.backoff_limit |= path.ends_with("backoffLimit");
                self.history.deadline |= path.ends_with("activeDeadlineSeconds");
                self.edit(path, json!(value));
            }
            Op::WipeStatus => self.wipe(),
            Op::Rename(id) => self.rename(id),
            Op::Recreate => {
                // There is one: nobody but the user and a time to live delete it.
                let _gone =
                    self.cluster
                        .server
                        .delete::<StoredJob>("demo", &Deletion::default(), self.now);
                if self.cluster.job().is_none() {
                    self.create();
                }
            }
            Op::Unlabel(which, label) => self.relabel(which, label, None),
            Op::Mislabel(which) => self.relabel(which, labels::INDEX, Some("7")),
            Op::Second(which) => self.second(which),
            Op::Take(which, labelled, pod) => self.take(which, labelled, pod),
            Op::FreeNames => self.free_names(),
            _ => {}
        }
    }

    /// One of the job's pods.
    fn pick(&self, which: usize) -> Option<String> {
        let ours = |pod: &&Pod| owner(pod) == Some(&self.history.uid);
        let all: Vec<_> = self.cluster.pods().filter(ours).collect();
        let pod = all.get(which % all.len().max(1))?;
        pod.metadata.name.clone()
    }

    fn delete(&mut self, which: usize, how: &Deletion) {
        if let Some(name) = self.pick(which) {
            self.history.lost += 1;
            self.cluster.delete_pod(&name, how, self.now).unwrap();
            self.listen();
        }
    }

    pub(crate) fn edit(&mut self, path: &str, value: serde_json::Value) {
        self.cluster.edit_job(|job| set(job, path, value));
    }

    fn scale(&mut self, worker: bool, count: u32) {
        let role = if worker {
            self.set.worker
        } else {
            self.set.server
        };
        // A tracker is one; what the admission refuses is no edit.
        let is_fixed = role == self.set.server && self.set.chief == "Tuner";
        let path = format!("spec.mxReplicaSpecs.{role}.replicas");
        let spec = self.schedule.manifest["spec"]["mxReplicaSpecs"][role].is_object();
        let allowed = spec && !is_fixed && (count > 0 || !worker);
        if allowed && self.cluster.job().is_some() {
            self.history.rescales += 1;
            self.edit(&path, json!(count));
        }
    }

    fn rename(&mut self, id: Option<Option<&str>>) {
        // One set has that version, and its other mode has not.
        if self.set.worker != MX.worker || self.cluster.job().is_none() {
            return;
        }
        let run = |life: &Self| life.cluster.job().and_then(|job| job.meta.run.clone());
        let before = run(self);
        self.cluster.edit_job(|job| match id {
            Some(id) => annotated(job, id, None),
            None => job["metadata"]["annotations"] = json!(null),
        });
        self.history.renames += i32::from(run(self) != before);
    }

    fn wipe(&mut self) {
        let wiped = self.cluster.server.update::<StoredJob>(
            "demo",
            &Preconditions::default(),
            Part::Status,
            |job| *job.status_mut() = JobStatus::default(),
        );
        if wiped.is_ok() {
            self.history.wiped = true;
            self.history.last = JobStatus::default();
        }
    }

    fn relabel(&mut self, which: usize, label: &str, value: Option<&str>) {
        let Some(name) = self.pick(which) else { return };
        self.history.hidden |= label == labels::OPERATOR;
        let edit = |pod: &mut Pod| {
            let all = pod.metadata.labels.get_or_insert_default();
            all.remove(label);
            all.extend(value.map(|value| (label.to_owned(), value.to_owned())));
        };
        let anything = Preconditions::default();
        self.cluster
            .server
            .update(&name, &anything, Part::Main, edit)
            .unwrap();
    }

    /// A copy of a pod, with its labels and owner.
    fn second(&mut self, which: usize) {
        let Some(name) = self.pick(which) else { return };
        let mut pod = Pod::clone(&self.cluster.server.get(&name).unwrap());
        let copy = format!("copy-of-{name}");
        pod.metadata.name = Some(copy.clone());
        // No node will ever see it: it is not the name of a replica.
        pod.spec.get_or_insert_default().node_name = None;
        if self.cluster.create_pod(pod, self.now).is_ok() {
            self.seconds.insert(copy);
        }
    }

    fn take(&mut self, which: usize, labelled: bool, pod: bool) {
        let Some(job) = self.cluster.job() else {
            return;
        };
        let Ok(spec) = &job.spec else { return };
        let all: Vec<_> = spec.replicas().collect();
        let Some(replica) = all.get(which % all.len().max(1)) else {
            return;
        };
        let name = names::replica(job, *replica);
        let labels = [
            (labels::OPERATOR, self.set.table.operator()),
            (labels::JOB, "demo".to_owned()),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value)).into();
        let mut service = Service::default();
        service.metadata.name = Some(name);
        service.metadata.labels = labelled.then_some(labels);
        // Whether the name was free is the point.
        let _taken = if pod {
            let metadata = service.metadata;
            let pod = Pod {
                metadata,
                ..Pod::default()
            };
            self.cluster.server.create(pod, self.now).map(drop)
        } else {
            self.cluster.server.create(service, self.now).map(drop)
        };
    }

    pub(crate) fn free_names(&mut self) {
        let strangers: Vec<_> = self
            .cluster
            .pods()
            .filter(|pod| owner(pod).is_none())
            .filter_map(|pod| pod.metadata.name.clone())
            .collect();
        for name in strangers {
            self.cluster
                .delete_pod(&name, &Deletion::now(), self.now)
                .unwrap();
        }
        let services: Vec<_> = self
            .cluster
            .services()
            .filter(|one| one.metadata.owner_references.is_none())
            .filter_map(|one| one.metadata.name.clone())
            .collect();
        for name in services {
            let gone = self
                .cluster
                .server
                .delete::<Service>(&name, &Deletion::now(), self.now);
            gone.unwrap();
        }
    }
}
