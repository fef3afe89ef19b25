//! What is known of one kind of object: what the watch has said, and what our own writes were
//! answered with while the watch has not got there yet.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use super::key::JobKey;

/// How long an answer is believed that the watch does not confirm.
const UNCONFIRMED: Duration = Duration::from_secs(30);

/// Something that is cached.
pub(super) trait Item: Clone + PartialEq {
    /// Whether it stays until a read by name has said that it is gone. Others are forgotten sooner:
    /// who creates them again is told that they are there.
    const STAYS: bool = false;
    /// Its uid.
    fn uid(&self) -> &str;
    /// The same with a deletion asked for.
    fn doomed(self) -> Self;
    /// The same, known as `before` until now.
    #[must_use]
    fn after(self, _before: &Self) -> Self {
        self
    }
}

/// A resource version. The order of those of one kind is the order of the writes (KEP-5504; true of
/// every etcd-backed server before it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u64);

impl Version {
    /// Reads `metadata.resourceVersion`.
    pub(crate) fn of(text: Option<&str>) -> Self {
        Self(text.and_then(|text| text.parse().ok()).unwrap_or_default())
    }
}

#[derive(Debug)]
struct Entry<V> {
    item: V,
    version: Version,
    /// When an answer put it here that the watch has not confirmed.
    written: Option<Instant>,
    /// When its deletion was answered; the watch will say so.
    doomed: Option<Instant>,
}

type Entries<V> = HashMap<JobKey, HashMap<String, Entry<V>>>;

/// The objects of one kind, by job and name.
#[derive(Debug)]
pub(super) struct Shelf<V> {
    entries: Entries<V>,
    /// The newest thing that the watch has said.
    seen: Version,
    /// A list under way, and when it began.
    incoming: Option<(Entries<V>, Instant)>,
    synced: bool,
}

impl<V> Default for Shelf<V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            seen: Version::default(),
            incoming: None,
            synced: false,
        }
    }
}

impl<V: Item> Shelf<V> {
    /// A list has been complete at least once.
    pub(super) fn is_synced(&self) -> bool {
        self.synced
    }

    /// The objects of a job.
    pub(super) fn of(&self, job: &JobKey) -> impl Iterator<Item = V> {
        self.entries
            .get(job)
            .into_iter()
            .flat_map(HashMap::values)
            .map(|entry| match entry.doomed {
                Some(_) => entry.item.clone().doomed(),
                None => entry.item.clone(),
            })
    }

    /// All objects.
    pub(super) fn all(&self) -> impl Iterator<Item = &V> {
        let entries = self.entries.values().flat_map(HashMap::values);
        entries.map(|entry| &entry.item)
    }

    /// A list begins.
    pub(super) fn begin(&mut self) {
        self.incoming = Some((HashMap::new(), Instant::now()));
    }

    /// The list has this object.
    pub(super) fn offer(&mut self, job: JobKey, name: String, item: V, version: Version) {
        self.seen = self.seen.max(version);
        if let Some((incoming, _)) = &mut self.incoming {
            let doomed = doom(&self.entries, &job, &name, item.uid());
            let before = self.entries.get(&job).and_then(|known| known.get(&name));
            let item = match before {
                Some(before) => item.after(&before.item),
                None => item,
            };
            incoming.entry(job).or_default().insert(
                name,
                Entry {
                    item,
                    version,
                    written: None,
                    doomed,
                },
            );
        }
    }

    /// The list is complete: what it does not have is gone. Returns every job that has or had
    /// something here.
    pub(super) fn finish(&mut self) -> HashSet<JobKey> {
        let Some((mut entries, began)) = self.incoming.take() else {
            return HashSet::new();
        };
        let mut jobs: HashSet<JobKey> = entries.keys().cloned().collect();
        for (job, old) in self.entries.drain() {
            jobs.insert(job.clone());
            for (name, entry) in old
                .into_iter()
                .filter(|(_, entry)| entry.written.is_some_and(|at| at >= began))
            {
                let listed = entries.entry(job.clone()).or_default();
                if listed
                    .get(&name)
                    .is_none_or(|there| there.version < entry.version)
                {
                    listed.insert(name, entry);
                }
            }
        }
        self.entries = entries;
        self.synced = true;
        jobs
    }

    /// The watch has come to a version that is here already; true when that is so.
    pub(super) fn confirm(&mut self, job: &JobKey, name: &str, version: Version) -> bool {
        let known = self
            .entries
            .get_mut(job)
            .and_then(|objects| objects.get_mut(name));
        let same = known.filter(|entry| entry.version == version && version != Version::default());
        if let Some(entry) = same {
            entry.written = None;
            self.seen = self.seen.max(version);
            return true;
        }
        false
    }

    /// The watch says that the object is like this. True when that is news.
    pub(super) fn apply(&mut self, job: JobKey, name: String, item: V, version: Version) -> bool {
        self.seen = self.seen.max(version);
        let doomed = doom(&self.entries, &job, &name, item.uid());
        let objects = self.entries.entry(job).or_default();
        if let Some(known) = objects.get_mut(&name) {
            if known.version > version && known.written.is_some() {
                return false;
            }
            let news = known.item != item;
            *known = Entry {
                item: item.after(&known.item),
                version,
                written: None,
                doomed,
            };
            return news;
        }
        objects.insert(
            name,
            Entry {
                item,
                version,
                written: None,
                doomed,
            },
        );
        true
    }

    /// The watch says that the object is gone. True when that is news.
    pub(super) fn remove(&mut self, job: &JobKey, name: &str, uid: &str, version: Version) -> bool {
        self.seen = self.seen.max(version);
        let Some(objects) = self.entries.get_mut(job) else {
            return false;
        };
        if objects
            .get(name)
            .is_none_or(|known| known.item.uid() != uid)
        {
            return false;
        }
        objects.remove(name);
        if objects.is_empty() {
            self.entries.remove(job);
        }
        true
    }

    /// A write was answered with this object. Where the watch is further already, it knows better;
    /// where it is as far, it may have shown what an older definition leaves of the object.
    pub(super) fn write(&mut self, job: &JobKey, name: &str, item: V, version: Version) {
        let objects = self.entries.entry(job.clone()).or_default();
        let same = objects.get_mut(name);
        if let Some(known) = same.filter(|known| known.version == version) {
            known.item = item;
            return;
        }
        let newest = objects.get(name).map_or(self.seen, |known| known.version);
        if version > newest {
            let entry = Entry {
                item,
                version,
                written: Some(Instant::now()),
                doomed: None,
            };
            objects.insert(name.to_owned(), entry);
        }
        if objects.is_empty() {
            self.entries.remove(job);
        }
    }

    /// A deletion was answered; until the watch says more the object is being deleted.
    pub(super) fn doom(&mut self, job: &JobKey, name: &str, uid: &str) {
        let known = self
            .entries
            .get_mut(job)
            .and_then(|objects| objects.get_mut(name));
        if let Some(entry) = known.filter(|entry| entry.item.uid() == uid) {
            entry.doomed = Some(Instant::now());
        }
    }

    /// Whether an answer about the object is here that the watch has not confirmed in time.
    pub(super) fn is_late(&self, job: &JobKey, name: &str, now: Instant) -> bool {
        let known = self.entries.get(job).and_then(|known| known.get(name));
        known.is_some_and(|entry| is_late(entry.written, now))
    }

    /// It was read by name, because it was late; `None`: it is gone.
    pub(super) fn found(&mut self, job: &JobKey, name: &str, found: Option<(V, Version)>) {
        let now = Instant::now();
        if !self.is_late(job, name, now) {
            // The watch has spoken meanwhile.
            return;
        }
        let Some(objects) = self.entries.get_mut(job) else {
            return;
        };
        objects.remove(name);
        if let Some((item, version)) = found {
            let (written, doomed) = (Some(now), None);
            objects.insert(
                name.to_owned(),
                Entry {
                    item,
                    version,
                    written,
                    doomed,
                },
            );
        }
        if objects.is_empty() {
            self.entries.remove(job);
        }
    }

    /// Forgets answers that the watch has not confirmed in time; returns the jobs concerned.
    pub(super) fn expire(&mut self, now: Instant) -> HashSet<JobKey> {
        let late = |at| is_late(at, now);
        let mut jobs = HashSet::new();
        self.entries.retain(|job, objects| {
            let before = objects.len();
            let waits = objects
                .values()
                .any(|entry| V::STAYS && late(entry.written));
            objects.retain(|_, entry| V::STAYS || !late(entry.written));
            let spared = objects
                .values_mut()
                .filter(|entry| late(entry.doomed))
                .map(|entry| entry.doomed = None)
                .count();
            if waits || objects.len() < before || spared > 0 {
                jobs.insert(job.clone());
            }
            !objects.is_empty()
        });
        jobs
    }
}

fn is_late(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| now.duration_since(at) >= UNCONFIRMED)
}

fn doom<V: Item>(entries: &Entries<V>, job: &JobKey, name: &str, uid: &str) -> Option<Instant> {
    let known = entries.get(job)?.get(name)?;
    known.doomed.filter(|_| known.item.uid() == uid)
}

#[cfg(test)]
mod tests;
