//! What is kept, and for how long.

use mxjob_core::{MxRole, ReplicaRole as _};

use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Thing(&'static str, &'static str);

impl Item for Thing {
    fn uid(&self) -> &str {
        self.0
    }

    fn doomed(self) -> Self {
        Self(self.0, "doomed")
    }
}

fn job() -> JobKey {
    JobKey::new(MxRole::TABLE, "default", "job")
}

fn applied(shelf: &mut Shelf<Thing>, thing: &Thing, version: u64) -> bool {
    shelf.apply(job(), "pod".into(), thing.clone(), Version(version))
}

fn seen(shelf: &Shelf<Thing>) -> Vec<Thing> {
    shelf.of(&job()).collect()
}

#[tokio::test]
async fn the_same_again_is_no_news() {
    let mut shelf = Shelf::default();
    assert!(applied(&mut shelf, &Thing("1", "a"), 1));
    assert!(!applied(&mut shelf, &Thing("1", "a"), 2));
    assert!(applied(&mut shelf, &Thing("1", "b"), 3));
}

#[tokio::test]
async fn an_answer_is_not_undone_by_older_news() {
    let mut shelf = Shelf::default();
    shelf.write(&job(), "pod", Thing("2", "new"), Version(10));
    assert!(!applied(&mut shelf, &Thing("1", "old"), 9));
    assert!(!shelf.remove(&job(), "pod", "1", Version(9)));
    assert_eq!(seen(&shelf), [Thing("2", "new")]);
    assert!(applied(&mut shelf, &Thing("2", "newer"), 11));
}

#[tokio::test]
async fn an_answer_tells_more_than_news_of_the_same_version() {
    let mut shelf = Shelf::default();
    applied(
        &mut shelf,
        &Thing("1", "what an older definition leaves"),
        10,
    );
    shelf.write(&job(), "pod", Thing("1", "whole"), Version(10));
    assert_eq!(seen(&shelf), [Thing("1", "whole")]);
}

#[tokio::test]
async fn an_answer_that_comes_after_the_deletion_brings_nothing_back() {
    let mut shelf = Shelf::default();
    applied(&mut shelf, &Thing("1", "a"), 10);
    shelf.remove(&job(), "pod", "1", Version(11));
    shelf.write(&job(), "pod", Thing("1", "a"), Version(10));
    assert_eq!(seen(&shelf), []);
}

#[tokio::test]
async fn a_list_replaces_all_but_what_was_written_meanwhile() {
    let mut shelf = Shelf::default();
    applied(&mut shelf, &Thing("1", "gone"), 1);
    shelf.begin();
    shelf.write(&job(), "other", Thing("2", "written"), Version(5));
    assert_eq!(shelf.finish(), HashSet::from([job()]));
    assert_eq!(seen(&shelf), [Thing("2", "written")]);
    assert!(shelf.is_synced());
}

#[tokio::test]
async fn after_a_restored_backup_versions_may_go_back() {
    let mut shelf = Shelf::default();
    applied(&mut shelf, &Thing("1", "later"), 100);
    shelf.begin();
    shelf.offer(job(), "pod".into(), Thing("1", "earlier"), Version(50));
    shelf.finish();
    assert_eq!(seen(&shelf), [Thing("1", "earlier")]);
}

#[tokio::test]
async fn a_deleted_object_stays_deleted_until_the_watch_says_gone() {
    let mut shelf = Shelf::default();
    applied(&mut shelf, &Thing("1", "a"), 1);
    shelf.doom(&job(), "pod", "1");
    applied(&mut shelf, &Thing("1", "b"), 2);
    assert_eq!(seen(&shelf), [Thing("1", "doomed")]);
    applied(&mut shelf, &Thing("2", "next"), 3);
    assert_eq!(seen(&shelf), [Thing("2", "next")]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_confirms_is_forgotten() {
    let mut shelf = Shelf::default();
    shelf.write(&job(), "pod", Thing("1", "a"), Version(1));
    assert!(shelf.expire(Instant::now()).is_empty());
    tokio::time::advance(UNCONFIRMED).await;
    assert_eq!(shelf.expire(Instant::now()), HashSet::from([job()]));
    assert_eq!(seen(&shelf), []);
}

#[derive(Clone, Debug, PartialEq)]
struct Lasting(&'static str);

impl Item for Lasting {
    const STAYS: bool = true;

    fn uid(&self) -> &str {
        self.0
    }

    fn doomed(self) -> Self {
        self
    }
}

#[tokio::test(start_paused = true)]
async fn what_stays_is_forgotten_when_a_read_says_so() {
    let mut shelf = Shelf::default();
    let seen = |shelf: &Shelf<Lasting>| shelf.of(&job()).collect::<Vec<_>>();
    shelf.write(&job(), "job", Lasting("1"), Version(1));
    // Nobody may say so before it is late.
    shelf.found(&job(), "job", None);
    assert_eq!(seen(&shelf), [Lasting("1")]);
    tokio::time::advance(UNCONFIRMED).await;
    assert_eq!(shelf.expire(Instant::now()), HashSet::from([job()]));
    assert_eq!(seen(&shelf), [Lasting("1")]);
    shelf.found(&job(), "job", Some((Lasting("1"), Version(1))));
    assert!(shelf.expire(Instant::now()).is_empty(), "believed again");
    tokio::time::advance(UNCONFIRMED).await;
    assert!(shelf.is_late(&job(), "job", Instant::now()));
    shelf.found(&job(), "job", None);
    assert_eq!(seen(&shelf), []);
}
