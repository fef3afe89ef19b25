//! The election, step by step.

use super::*;

const LEASE: Duration = Duration::from_secs(5);

fn at(millis: u64) -> Time {
    Duration::from_millis(millis)
}

fn candidate() -> Election {
    Election::new("me".to_owned(), Pace { lease: LEASE })
}

fn of(version: &str, holder: Holder) -> Record {
    Record {
        version: version.to_owned(),
        holder,
        lease: LEASE,
        transitions: 0,
    }
}

fn theirs(version: &str) -> Record {
    of(version, Holder::Named("other".to_owned()))
}

fn mine(version: &str) -> Record {
    of(version, Holder::Named("me".to_owned()))
}

fn over(record: Record) -> Step {
    Step::Write(Claim::Over(record))
}

/// One that leads since then.
fn leader(since: Time) -> Election {
    let mut election = candidate();
    election.saw(None, since);
    assert_eq!(election.next(since), Step::Write(Claim::Create));
    election.wrote(since, mine("1"), since + at(10));
    election
}

/// The moments at which it looks or writes, and what it writes, if nothing changes.
fn patience(election: &mut Election, record: Option<&Record>, from: Time) -> Time {
    let mut now = from;
    loop {
        match election.next(now) {
            Step::Read => election.saw(record.cloned(), now),
            Step::Wait(until) => now = until,
            Step::Write(_) => return now,
            Step::Lost(loss) => panic!("{loss}"),
        }
    }
}

// contract: 11.17
#[test]
fn a_lease_that_is_not_there_or_was_given_back_is_taken_at_once() {
    let mut election = candidate();
    assert_eq!(election.next(at(7)), Step::Read);
    election.saw(None, at(8));
    assert_eq!(election.next(at(8)), Step::Write(Claim::Create));
    let mut election = candidate();
    let released = of("3", Holder::Released);
    election.saw(Some(released.clone()), at(8));
    assert_eq!(election.next(at(8)), over(released));
}

// contract: 11.17
#[test]
fn that_of_another_is_taken_when_it_was_unchanged_for_a_whole_lease() {
    for holder in [Holder::Named("other".to_owned()), Holder::Nobody] {
        let mut election = candidate();
        let record = of("3", holder);
        election.saw(Some(record.clone()), at(100));
        assert_eq!(patience(&mut election, Some(&record), at(100)), at(5100));
        // One renewal, and the wait begins anew.
        let mut election = candidate();
        election.saw(Some(record.clone()), at(100));
        let later = Record {
            version: "4".to_owned(),
            ..record
        };
        election.saw(Some(later.clone()), at(4900));
        assert_eq!(patience(&mut election, Some(&later), at(4900)), at(9900));
    }
}

#[test]
fn whoever_asks_for_more_patience_gets_it_up_to_a_limit() {
    for (asked, waits) in [(0, 5), (2, 5), (15, 15), (60, 60), (1_000_000, 60)] {
        let mut election = candidate();
        let record = Record {
            lease: Duration::from_secs(asked),
            ..theirs("3")
        };
        election.saw(Some(record.clone()), at(0));
        let taken = patience(&mut election, Some(&record), at(0));
        assert_eq!(taken, Duration::from_secs(waits), "{asked}");
    }
}

#[test]
fn one_that_was_deleted_may_be_held_and_is_waited_for() {
    let mut election = candidate();
    election.saw(Some(theirs("3")), at(0));
    election.saw(None, at(1000));
    assert_eq!(patience(&mut election, None, at(1000)), at(6000));
}

// contract: 11.18
#[test]
fn a_term_counts_from_when_the_write_was_sent() {
    let mut election = candidate();
    election.saw(None, at(0));
    election.wrote(at(100), mine("1"), at(2000));
    let term = Pace { lease: LEASE }.term();
    assert_eq!(election.until(), Some(at(100) + term));
    assert!(term < LEASE);
    // An answer that is later than the term begins none: the lease is written again.
    let mut election = candidate();
    election.saw(None, at(0));
    election.wrote(at(100), mine("1"), at(4000));
    assert_eq!(election.until(), None);
    assert_eq!(election.next(at(4000)), over(mine("1")));
}

// contract: 11.18
#[test]
fn a_term_that_is_not_renewed_in_time_is_over_for_good() {
    let mut election = leader(at(0));
    let end = election.until().unwrap();
    assert_eq!(election.next(at(1000)), over(mine("1")));
    election.failed(at(2500));
    assert_eq!(election.next(at(2500)), Step::Wait(at(2750)));
    election.failed(end.saturating_sub(at(1)));
    assert_eq!(election.next(end.saturating_sub(at(1))), Step::Wait(end));
    assert_eq!(election.next(end), Step::Lost(Loss::Late));
    // The answer that comes after all changes nothing, nor does what is read.
    election.wrote(at(2750), mine("2"), end);
    election.saw(Some(mine("2")), end);
    assert_eq!(election.next(end), Step::Lost(Loss::Late));
    assert_eq!(election.until(), None);
}

#[test]
fn stopped_for_longer_than_a_term_it_leads_no_more_whatever_it_was_answered() {
    let mut election = leader(at(0));
    assert_eq!(election.next(at(1000)), over(mine("1")));
    let woken = at(60_000);
    election.wrote(at(1000), mine("2"), woken);
    assert_eq!(election.until(), None);
    assert_eq!(election.next(woken), Step::Lost(Loss::Late));
}

#[test]
fn renewals_follow_each_other_before_the_term_ends() {
    let mut election = leader(at(0));
    for second in 1..20 {
        let now = at(second * 1000);
        assert_eq!(election.next(now.saturating_sub(at(1))), Step::Wait(now));
        let known = mine(&second.to_string());
        assert_eq!(election.next(now), over(known));
        election.wrote(now, mine(&(second + 1).to_string()), now + at(5));
    }
}

// contract: 11.19
#[test]
fn a_leader_puts_the_lease_right_unless_another_holds_it() {
    for (found, writes) in [
        (None, Some(Claim::Create)),
        (Some(mine("9")), Some(Claim::Over(mine("9")))),
        (
            Some(of("9", Holder::Nobody)),
            Some(Claim::Over(of("9", Holder::Nobody))),
        ),
        (Some(theirs("9")), None),
    ] {
        let mut election = leader(at(0));
        let end = election.until();
        election.conflicted(at(1000));
        assert_eq!(election.next(at(1000)), Step::Read);
        election.saw(found, at(1010));
        let wanted = writes.map_or(Step::Lost(Loss::Taken("other".to_owned())), Step::Write);
        assert_eq!(election.next(at(1010)), wanted);
        // What is read makes no term longer.
        if wanted != Step::Lost(Loss::Taken("other".to_owned())) {
            assert_eq!(election.until(), end);
        }
    }
}

#[test]
fn a_claim_whose_answer_was_lost_is_made_again() {
    let mut election = candidate();
    let released = of("3", Holder::Released);
    election.saw(Some(released.clone()), at(0));
    assert_eq!(election.next(at(0)), over(released.clone()));
    election.failed(at(1500));
    assert_eq!(election.next(at(2500)), over(released));
    election.conflicted(at(2510));
    assert_eq!(election.next(at(2510)), Step::Read);
    election.saw(Some(mine("4")), at(2520));
    assert_eq!(election.until(), None);
    assert_eq!(election.next(at(2520)), over(mine("4")));
}
