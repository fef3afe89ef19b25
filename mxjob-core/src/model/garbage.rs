//! The garbage collector: what belongs to nobody that is still there goes, and what waits for its
//! dependants goes after them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::api::{ApiError, Deletion, Part, Preconditions};
use super::server::{Server, is_deleting};
use super::stored::{Stored, StoredJob};

/// Holds an object back until its dependants are gone.
const FOREGROUND: &str = "foregroundDeletion";

impl Server {
    /// Deletes an object once its dependants are gone, which are deleted first.
    pub(super) fn delete_after_dependants<T: Stored>(&mut self, name: &str, now: Timestamp) {
        let held = self.update::<T>(name, &Preconditions::default(), Part::Main, |object| {
            let finalizers = object.meta_mut().finalizers.get_or_insert_default();
            if !finalizers.iter().any(|one| one == FOREGROUND) {
                finalizers.push(FOREGROUND.to_owned());
            }
        });
        if held.is_ok() {
            // It has just been found.
            let _found = self.delete::<T>(name, &Deletion::default(), now);
        }
    }

    /// The garbage collector: what belongs to nobody that is still there is deleted.
    pub fn collect_garbage(&mut self, now: Timestamp) {
        let owners = |meta: &ObjectMeta| {
            let owners = meta.owner_references.iter().flatten();
            owners.map(|owner| owner.uid.clone()).collect::<Vec<_>>()
        };
        loop {
            let stays: BTreeSet<String> = self
                .metas()
                .filter(|(_, meta)| !is_held_by_dependants(meta))
                .filter_map(|(_, meta)| meta.uid.clone())
                .collect();
            let orphan = |meta: &ObjectMeta| {
                let owners = owners(meta);
                !is_deleting(meta)
                    && !owners.is_empty()
                    && !owners.iter().any(|uid| stays.contains(uid))
            };
            let orphans: Vec<_> = self
                .metas()
                .filter(|(_, meta)| orphan(meta))
                .map(|(kind, meta)| (kind, meta.name.clone().unwrap_or_default()))
                .collect();
            if orphans.is_empty() {
                break;
            }
            for (kind, name) in orphans {
                // It has just been found.
                let _found = self.delete_of_kind(kind, &name, now);
            }
        }
        let with_dependants: BTreeSet<String> =
            self.metas().flat_map(|(_, meta)| owners(meta)).collect();
        let held = self.jobs.all().find(|job| {
            let uid = job.metadata.uid.as_ref();
            is_held_by_dependants(&job.metadata)
                && uid.is_none_or(|uid| !with_dependants.contains(uid))
        });
        if let Some(name) = held.and_then(|job| job.metadata.name.clone()) {
            let only = Preconditions::default();
            let _found = self.update::<StoredJob>(&name, &only, Part::Main, |job| {
                let finalizers = job.metadata.finalizers.iter_mut();
                finalizers.for_each(|all| all.retain(|one| one != FOREGROUND));
            });
        }
    }

    fn delete_of_kind(
        &mut self,
        kind: &'static str,
        name: &str,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let how = Deletion::default();
        match kind {
            Pod::KIND => self.delete::<Pod>(name, &how, now),
            Service::KIND => self.delete::<Service>(name, &how, now),
            ConfigMap::KIND => self.delete::<ConfigMap>(name, &how, now),
            _ => self.delete::<StoredJob>(name, &how, now),
        }
    }

    fn metas(&self) -> impl Iterator<Item = (&'static str, &ObjectMeta)> {
        fn of<T: Stored>(server: &Server) -> impl Iterator<Item = (&'static str, &ObjectMeta)> {
            server.list::<T>().map(|one| (T::KIND, one.meta()))
        }
        of::<StoredJob>(self)
            .chain(of::<Pod>(self))
            .chain(of::<Service>(self))
            .chain(of::<ConfigMap>(self))
    }
}

fn is_held_by_dependants(meta: &ObjectMeta) -> bool {
    let mut finalizers = meta.finalizers.iter().flatten();
    is_deleting(meta) && finalizers.any(|one| one == FOREGROUND)
}
