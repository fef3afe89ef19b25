//! The API server's side: objects come and go by its rules, those that the tests on a real one hold
//! this to. One namespace; a deletion always lets the dependants go afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::api::{ApiError, Deletion, Part, Preconditions};
use super::stored::{Stored, StoredJob};

/// What is stored.
#[derive(Clone, Debug, Default)]
pub struct Server {
    pub(super) jobs: Shelf<StoredJob>,
    pub(super) pods: Shelf<Pod>,
    pub(super) services: Shelf<Service>,
    pub(super) config_maps: Shelf<ConfigMap>,
    /// Last uid and resourceVersion handed out.
    revision: u64,
}

/// The objects of one kind, by name.
#[derive(Clone, Debug)]
pub struct Shelf<T> {
    objects: BTreeMap<String, Arc<T>>,
    /// What a watch tells; `None`: nobody watches.
    changes: Option<Vec<Change<T>>>,
}

/// A change of an object, as a watch tells it.
#[derive(Clone, Debug)]
pub(super) struct Change<T> {
    /// As it is now, or as it was at last.
    pub(super) object: Arc<T>,
    pub(super) gone: bool,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            changes: None,
        }
    }
}

impl<T> Shelf<T> {
    /// The objects, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.values()
    }

    /// The object of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.objects.get(name)
    }

    pub(super) fn changes(&self) -> &[Change<T>] {
        self.changes.as_deref().unwrap_or_default()
    }

    fn store(&mut self, name: &str, object: Arc<T>, gone: bool) {
        if gone {
            self.objects.remove(name);
        } else {
            self.objects.insert(name.to_owned(), object.clone());
        }
        if let Some(changes) = &mut self.changes {
            changes.push(Change { object, gone });
        }
    }
}

impl Server {
    /// Keeps every change for those who watch.
    pub(super) fn watched() -> Self {
        fn kept<T>() -> Shelf<T> {
            Shelf {
                changes: Some(Vec::new()),
                ..Shelf::default()
            }
        }
        Self {
            jobs: kept(),
            pods: kept(),
            services: kept(),
            config_maps: kept(),
            revision: 0,
        }
    }

    /// The objects of a kind.
    pub fn list<T: Stored>(&self) -> impl Iterator<Item = &Arc<T>> {
        T::shelf(self).all()
    }

    /// Reads an object.
    pub fn get<T: Stored>(&self, name: &str) -> Result<Arc<T>, ApiError> {
        let found = T::shelf(self).get(name).cloned();
        found.ok_or_else(|| ApiError::NotFound {
            kind: T::KIND,
            name: name.to_owned(),
        })
    }

    /// Stores a new object. What the server fills in is filled in, whatever stands there.
    pub fn create<T: Stored>(&mut self, mut object: T, now: Timestamp) -> Result<Arc<T>, ApiError> {
        let name = object.meta().name.clone().unwrap_or_default();
        if name.is_empty() {
            return Err(invalid::<T>(&name, "name or generateName is required"));
        }
        if T::shelf(self).get(&name).is_some() {
            let kind = T::KIND;
            return Err(ApiError::AlreadyExists { kind, name });
        }
        let revision = self.next_revision();
        object.clear_status();
        let meta = object.meta_mut();
        meta.uid = Some(format!("uid-{revision}"));
        meta.resource_version = Some(revision.to_string());
        meta.generation = T::HAS_GENERATION.then_some(1);
        meta.creation_timestamp = Some(Time(now));
        meta.deletion_timestamp = None;
        meta.deletion_grace_period_seconds = None;
        object.changed();
        Ok(self.store(&name, object))
    }

    /// Puts another object in the place of one, as far as that can be changed.
    pub fn replace<T: Stored>(
        &mut self,
        name: &str,
        only: &Preconditions,
        object: T,
    ) -> Result<Arc<T>, ApiError> {
        check::<T>(self.get::<T>(name)?.meta(), only)?;
        if T::NEEDS_VERSION && only.version.is_none() {
            return Err(invalid::<T>(
                name,
                "metadata.resourceVersion: must be specified for an update",
            ));
        }
        self.update(name, only, Part::Main, |stored| *stored = object)
    }

    /// Changes an object. A change that changes nothing leaves its resourceVersion as it is.
    pub fn update<T: Stored>(
        &mut self,
        name: &str,
        only: &Preconditions,
        part: Part,
        edit: impl FnOnce(&mut T),
    ) -> Result<Arc<T>, ApiError> {
        let old = self.get::<T>(name)?;
        let version = only.version.clone();
        check::<T>(old.meta(), &Preconditions { uid: None, version })?;
        let takes_uid = part == Part::Main || !T::STATUS_ALONE;
        if takes_uid && only.uid.is_some() && only.uid != old.meta().uid {
            return Err(invalid::<T>(name, "metadata.uid: field is immutable"));
        }
        let mut new = T::clone(&old);
        edit(&mut new);
        match part {
            Part::Main => new.take_status(&old),
            Part::Status => {
                let mut kept = T::clone(&old);
                kept.take_status(&new);
                new = kept;
            }
        }
        keep_identity(new.meta_mut(), old.meta());
        if is_deleting(old.meta()) && has_new_finalizer(new.meta(), old.meta()) {
            let why = "metadata.finalizers: no new finalizers can be added if the object is being deleted";
            return Err(invalid::<T>(name, why));
        }
        if new == *old {
            return Ok(old);
        }
        if T::HAS_GENERATION && !new.is_same_spec(&old) {
            next_generation(new.meta_mut());
        }
        let meta = new.meta_mut();
        let revision = self.next_revision();
        meta.resource_version = Some(revision.to_string());
        // What only its finalizers held back goes with the last of them.
        let gone = is_deleting(meta)
            && meta.deletion_grace_period_seconds.unwrap_or(0) == 0
            && !has_finalizers(meta);
        new.changed();
        if gone {
            return Ok(self.remove(name, new));
        }
        Ok(self.store(name, new))
    }

    /// Deletes an object: at once, or when it has stopped and nothing holds it back any more.
    pub fn delete<T: Stored>(
        &mut self,
        name: &str,
        how: &Deletion,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let old = self.get::<T>(name)?;
        check::<T>(old.meta(), &how.only)?;
        let mut new = T::clone(&old);
        let deleting = is_deleting(old.meta());
        let grace = new.grace(how.grace);
        let meta = new.meta_mut();
        let left = meta.deletion_grace_period_seconds.unwrap_or(0);
        if deleting {
            // A deletion under way can only be made shorter.
            let Some(shorter) = how.grace.filter(|asked| *asked < left) else {
                return Ok(());
            };
            let end = meta.deletion_timestamp.as_ref().map_or(now, |end| end.0);
            meta.deletion_timestamp = Some(Time(later(end, shorter - left)));
            meta.deletion_grace_period_seconds = Some(shorter);
        } else {
            meta.deletion_timestamp = Some(Time(later(now, grace.unwrap_or(0))));
            meta.deletion_grace_period_seconds = Some(grace.unwrap_or(0));
            next_generation(meta);
        }
        let gone = meta.deletion_grace_period_seconds == Some(0) && !has_finalizers(meta);
        let revision = self.next_revision();
        new.meta_mut().resource_version = Some(revision.to_string());
        new.changed();
        if gone {
            self.remove(name, new);
        } else {
            self.store(name, new);
        }
        Ok(())
    }

    fn store<T: Stored>(&mut self, name: &str, object: T) -> Arc<T> {
        let object = Arc::new(object);
        T::shelf_mut(self).store(name, object.clone(), false);
        object
    }

    fn remove<T: Stored>(&mut self, name: &str, object: T) -> Arc<T> {
        let object = Arc::new(object);
        T::shelf_mut(self).store(name, object.clone(), true);
        object
    }

    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}

fn invalid<T: Stored>(name: &str, why: &'static str) -> ApiError {
    ApiError::Invalid {
        kind: T::KIND,
        name: name.to_owned(),
        why,
    }
}

/// Fails when the object is another one than the one meant.
fn check<T: Stored>(meta: &ObjectMeta, only: &Preconditions) -> Result<(), ApiError> {
    let conflict = |what| {
        Err(ApiError::Conflict {
            kind: T::KIND,
            name: meta.name.clone().unwrap_or_default(),
            what,
        })
    };
    if only.uid.is_some() && only.uid != meta.uid {
        return conflict("uid");
    }
    if only.version.is_some() && only.version != meta.resource_version {
        return conflict("resourceVersion");
    }
    Ok(())
}

/// What no update can change.
fn keep_identity(meta: &mut ObjectMeta, old: &ObjectMeta) {
    meta.name.clone_from(&old.name);
    meta.namespace.clone_from(&old.namespace);
    meta.uid.clone_from(&old.uid);
    meta.resource_version.clone_from(&old.resource_version);
    meta.generation = old.generation;
    meta.creation_timestamp.clone_from(&old.creation_timestamp);
    meta.deletion_timestamp.clone_from(&old.deletion_timestamp);
    meta.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
}

pub(super) fn is_deleting(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
}

fn has_finalizers(meta: &ObjectMeta) -> bool {
    meta.finalizers.as_ref().is_some_and(|all| !all.is_empty())
}

fn has_new_finalizer(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    let known: Vec<_> = old.finalizers.iter().flatten().collect();
    new.finalizers
        .iter()
        .flatten()
        .any(|one| !known.contains(&one))
}

fn next_generation(meta: &mut ObjectMeta) {
    meta.generation = meta.generation.map(|generation| generation + 1);
}

fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(time)
}
