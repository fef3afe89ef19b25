//! What one operator knows of one kind of object: what its watch has said so far, and what its own
//! writes were answered with.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::server::{Change, Server, Shelf};
use super::stored::Stored;

/// A kind of object that an operator watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Jobs.
    Jobs,
    /// Pods.
    Pods,
    /// Those that an older operator has marked and that have not this one's label: a watch of its own.
    OlderPods,
    /// Services.
    Services,
    /// The same of services.
    OlderServices,
    /// ConfigMaps.
    ConfigMaps,
}

/// What a watch does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It tells of so many more changes.
    Next(usize),
    /// It begins anew so many changes earlier, and tells them again.
    Again(usize),
    /// It was cut off: a list says what is there, not what was meanwhile.
    List,
}

#[derive(Clone, Debug)]
pub(super) struct Cache<T> {
    known: BTreeMap<String, Known<T>>,
    /// Objects that the watch does not show, met by a refused create or looked for.
    strangers: BTreeMap<String, Arc<T>>,
    /// How many of the changes were told.
    at: usize,
    /// The newest thing that the watch has said.
    seen: u64,
}

#[derive(Clone, Debug)]
struct Known<T> {
    object: Arc<T>,
    /// By an answer; the watch has not got there yet.
    written: bool,
    /// Its deletion was answered; the watch will say so.
    doomed: bool,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            strangers: BTreeMap::new(),
            at: 0,
            seen: 0,
        }
    }
}

impl<T: Stored> Cache<T> {
    /// The objects, and whether their deletion was answered.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Arc<T>, bool)> {
        self.beside(None)
    }

    /// The same, with those that only the watch of an older operator's objects shows. What gets this one's
    /// label is in both until both have said so, or in neither.
    pub(super) fn with<'a>(&'a self, older: &'a Self) -> impl Iterator<Item = (&'a Arc<T>, bool)> {
        self.beside(Some(older))
    }

    fn beside<'a>(&'a self, older: Option<&'a Self>) -> impl Iterator<Item = (&'a Arc<T>, bool)> {
        let is_new = |one: &&Known<T>| !self.known.values().any(|known| known.is(&one.object));
        let older: Vec<_> = older
            .into_iter()
            .flat_map(|older| older.known.values())
            .collect();
        let older: Vec<_> = older.into_iter().filter(is_new).collect();
        let is_older = |name: &str| {
            older
                .iter()
                .any(|one| self::name(one.object.as_ref()) == name)
        };
        let unknown = self.strangers.iter();
        let unknown =
            unknown.filter(|(name, _)| !self.known.contains_key(*name) && !is_older(name));
        let unknown: Vec<_> = unknown.map(|(_, object)| (object, false)).collect();
        let known = self.known.values().chain(older);
        known.map(|one| (&one.object, one.doomed)).chain(unknown)
    }

    /// What was written and never confirmed is forgotten, and so is that a deletion was answered.
    pub(super) fn expire(&mut self) {
        self.known.retain(|_, known| !known.written);
        self.known
            .values_mut()
            .for_each(|known| known.doomed = false);
    }

    /// The object was read, for the watch has not shown it.
    pub(super) fn meet(&mut self, object: Arc<T>, is_watched: bool) {
        if is_watched {
            self.write(&object);
        } else {
            let name = name(object.as_ref()).to_owned();
            self.strangers.insert(name, object);
        }
    }

    /// Looks again at what the watch does not show.
    pub(super) fn look_again(&mut self, server: &Server, is_watched: impl Fn(&T) -> bool) {
        self.strangers.retain(|name, object| {
            server
                .get::<T>(name)
                .map(|found| *object = found)
                .is_ok_and(|()| !is_watched(object.as_ref()))
        });
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.known.get(name).map(|one| &one.object)
    }

    /// The watch of the objects that it is to show says something.
    pub(super) fn hear(&mut self, news: News, stored: &Shelf<T>, is_wanted: impl Fn(&T) -> bool) {
        match news {
            News::List => {
                self.at = stored.changes().len();
                let old = std::mem::take(&mut self.known);
                for object in stored.all().filter(|one| is_wanted(one.as_ref())) {
                    self.seen = self.seen.max(version(object.as_ref()));
                    self.put(told(object, old.get(name(object.as_ref()))));
                }
            }
            News::Next(count) => {
                let changes = stored.changes().iter().skip(self.at).take(count);
                changes.for_each(|change| self.learn(change, is_wanted(&change.object)));
                self.at = self.at.saturating_add(count).min(stored.changes().len());
            }
            News::Again(count) => {
                let end = self.at;
                self.at = end.saturating_sub(count);
                self.hear(News::Next(end - self.at), stored, is_wanted);
            }
        }
    }

    fn learn(&mut self, change: &Change<T>, wanted: bool) {
        let object = &change.object;
        self.seen = self.seen.max(version(object.as_ref()));
        let known = self.known.get(name(object.as_ref()));
        if change.gone || !wanted {
            if known.is_some_and(|known| known.is(object)) {
                self.known.remove(name(object.as_ref()));
            }
            return;
        }
        let newer = |known: &Known<T>| {
            known.written && version(known.object.as_ref()) > version(object.as_ref())
        };
        if !known.is_some_and(newer) {
            let known = told(object, known);
            self.put(known);
        }
    }

    /// A write was answered with this object. Where the watch is further already, it knows better.
    pub(super) fn write(&mut self, object: &Arc<T>) {
        let known = self.known.get(name(object.as_ref()));
        let newest = known.map_or(self.seen, |known| version(known.object.as_ref()));
        if version(object.as_ref()) > newest {
            self.put(Known {
                object: object.clone(),
                written: true,
                doomed: false,
            });
        }
    }

    /// A deletion was answered; until the watch says more the object is being deleted.
    pub(super) fn doom(&mut self, name: &str, uid: &str) {
        if let Some(known) = self.known.get_mut(name)
            && known.object.meta().uid.as_deref() == Some(uid)
        {
            known.doomed = true;
        }
    }

    fn put(&mut self, known: Known<T>) {
        let name = name(known.object.as_ref()).to_owned();
        self.known.insert(name, known);
    }
}

/// What is known of an object when the watch tells of it.
fn told<T: Stored>(object: &Arc<T>, before: Option<&Known<T>>) -> Known<T> {
    let stands_in = before.and_then(|before| object.after(&before.object));
    Known {
        object: stands_in.map_or_else(|| object.clone(), Arc::new),
        written: false,
        doomed: before.is_some_and(|before| before.dooms(object)),
    }
}

impl<T: Stored> Known<T> {
    fn is(&self, object: &Arc<T>) -> bool {
        self.object.meta().uid == object.meta().uid
    }

    fn dooms(&self, object: &Arc<T>) -> bool {
        self.doomed && self.is(object)
    }
}

fn name<T: Stored>(object: &T) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}

fn version<T: Stored>(object: &T) -> u64 {
    let version = object.meta().resource_version.as_deref();
    version
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}
