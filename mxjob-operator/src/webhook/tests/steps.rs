//! What is done about what is kept: one step after the other, whoever takes it.

use super::super::identity::{Flaw, Identity};
use super::super::rotation::{Contents, Why};
use super::*;

const DAY: Duration = Duration::from_hours(24);

/// One that is that old.
fn made(age: Duration) -> Identity {
    Identity::new(&here().names(), LIFETIME, SystemTime::now() - age).unwrap()
}

fn kept(current: Result<&Identity, Flaw>, next: Option<Result<&Identity, Flaw>>) -> Contents {
    Contents {
        current: current.cloned(),
        next: next.map(Result::<&Identity, Flaw>::cloned),
        asked: false,
    }
}

/// What becomes of it, as `current next` by the names of known ones, and why.
fn stepped(
    rotation: &Rotation,
    contents: &Contents,
    known: &[(&str, &Identity)],
) -> Option<(String, Why)> {
    let name = |one: &Result<Identity, Flaw>| {
        let one = one.as_ref().unwrap();
        rotation.check(one, SystemTime::now()).unwrap();
        let named = known.iter().find(|(_, known)| *known == one);
        named.map_or("new", |(name, _)| *name)
    };
    let now = (SystemTime::now(), Instant::now());
    let (contents, why) = rotation.step(contents, now).unwrap()?;
    assert!(!contents.asked);
    let next = contents.next.iter().map(name);
    let all: Vec<_> = [name(&contents.current)].into_iter().chain(next).collect();
    Some((all.join(" "), why))
}

// contract: 11.23, 11.24
#[test]
fn each_step_follows_from_what_is_kept_and_what_time_it_is() {
    let (good, next) = (made(DAY), made(Duration::ZERO));
    let (due, expired) = (made(DAY * 61), made(DAY * 91));
    let rotation = rotation(here().names(), DAY * 2);
    let missing = || Err(Flaw::Missing("tls.key"));
    let broken = |flaw: &Flaw| Why::Broken(flaw.clone());
    let lost = Flaw::Missing("tls.key");
    let known = [("good", &good), ("next", &next), ("due", &due)];
    for (what, contents, wanted) in [
        ("good", kept(Ok(&good), None), None),
        ("renewing", kept(Ok(&due), Some(Ok(&next))), None),
        ("asked before", kept(Ok(&good), Some(Ok(&next))), None),
        ("due", kept(Ok(&due), None), Some(("due new", Why::Due))),
        (
            "due, next broken",
            kept(Ok(&due), Some(missing())),
            Some(("due new", Why::Due)),
        ),
        (
            "next broken",
            kept(Ok(&good), Some(missing())),
            Some(("good", Why::BrokenNext(lost.clone()))),
        ),
        (
            "next expired",
            kept(Ok(&good), Some(Ok(&expired))),
            Some(("good", Why::BrokenNext(Flaw::Expired))),
        ),
        (
            "broken, next good",
            kept(missing(), Some(Ok(&next))),
            Some(("next", broken(&lost))),
        ),
        (
            "expired, next good",
            kept(Ok(&expired), Some(Ok(&next))),
            Some(("next", broken(&Flaw::Expired))),
        ),
    ] {
        let stepped = stepped(&rotation, &contents, &known);
        let wanted = wanted.map(|(contents, why)| (contents.to_owned(), why));
        assert_eq!(stepped, wanted, "{what}");
    }
    let mut asked = kept(Ok(&good), None);
    asked.asked = true;
    let wanted = Some(("good new".to_owned(), Why::Due));
    assert_eq!(stepped(&rotation, &asked, &known), wanted);
}

// contract: 11.24
#[test]
fn what_is_broken_is_replaced_by_what_is_shown_as_long_as_that_is_good() {
    let lost = Flaw::Missing("tls.key");
    let nothing = kept(Err(lost.clone()), Some(Err(lost.clone())));
    for (age, wanted) in [
        (DAY, "shown"),
        (DAY * 59, "shown"),
        (DAY * 61, "new"),
        (DAY * 91, "new"),
    ] {
        let mut rotation = rotation(here().names(), age);
        let now = (SystemTime::now() - age, Instant::now());
        rotation.learn(Contents::default());
        let (shown, _) = rotation.step(&Contents::default(), now).unwrap().unwrap();
        let shown = shown.current.unwrap();
        let found = stepped(&rotation, &nothing, &[("shown", &shown)]);
        let why = Why::Broken(lost.clone());
        assert_eq!(found, Some((wanted.to_owned(), why)), "{age:?}");
    }
    let mut asked = nothing;
    asked.asked = true;
    let rotation = rotation(here().names(), DAY);
    let (found, _) = stepped(&rotation, &asked, &[]).unwrap();
    assert_eq!(found, "new");
}

// contract: 11.23
#[test]
fn nothing_is_shown_before_it_is_trusted_unless_nothing_better_is_there() {
    let (now, at) = (SystemTime::now(), Instant::now());
    let (minute, other) = (Duration::from_mins(1), made(DAY));
    let shows =
        |rotation: &Rotation| rotation.authorities()[0] == other.authorities().next().unwrap();
    let theirs: Vec<_> = other.authorities().collect();
    for (what, age, trusted, later, shown) in [
        ("not trusted", DAY, vec![], minute, false),
        ("trusted of late", DAY, theirs.clone(), minute / 2, false),
        ("trusted", DAY, theirs.clone(), minute, true),
        ("what is shown has expired", DAY * 91, vec![], minute, true),
    ] {
        let mut rotation = rotation(here().names(), age);
        rotation.learn(kept(Ok(&other), None));
        rotation.trusted(&trusted, at);
        rotation.show((now, at + later));
        assert_eq!(shows(&rotation), shown, "{what}");
    }
    // Somebody took it out of the definition meanwhile.
    let mut taken_out = rotation(here().names(), DAY);
    taken_out.learn(kept(Ok(&other), None));
    taken_out.trusted(&theirs, at);
    taken_out.trusted(&[], at + minute);
    taken_out.trusted(&theirs, at + minute);
    taken_out.show((now, at + minute));
    assert!(!shows(&taken_out));
    taken_out.show((now, at + minute * 2));
    assert!(shows(&taken_out));
    // It has another one after it, which is still to be trusted.
    let mut followed = rotation(here().names(), DAY);
    followed.learn(kept(Ok(&other), None));
    followed.trusted(&theirs, at);
    followed.learn(kept(Ok(&other), Some(Ok(&made(DAY)))));
    followed.trusted(&theirs, at + minute);
    followed.show((now, at + minute));
    assert!(shows(&followed));
}

// contract: 11.24
#[test]
fn a_clock_that_jumps_for_an_hour_changes_nothing() {
    let hour = Duration::from_hours(1);
    let rotation = rotation(here().names(), Duration::ZERO);
    let current = made(Duration::ZERO);
    let contents = kept(Ok(&current), None);
    for now in [SystemTime::now() - hour, SystemTime::now() + hour] {
        let step = rotation.step(&contents, (now, Instant::now())).unwrap();
        assert_eq!(step, None);
    }
    // What is made while it is wrong is good for who has the right time.
    for now in [SystemTime::now() - hour, SystemTime::now() + hour] {
        let made = Identity::new(&here().names(), LIFETIME, now).unwrap();
        rotation.check(&made, SystemTime::now()).unwrap();
    }
    let back = SystemTime::now() - DAY * 2;
    let (_, why) = rotation
        .step(&contents, (back, Instant::now()))
        .unwrap()
        .unwrap();
    assert_eq!(why, Why::Broken(Flaw::Early));
}

// contract: 11.24
#[test]
fn each_flaw_has_a_name() {
    let parts = |identity: &Identity| identity.parts().map(|(_, text)| text);
    let [ca, certificate, key] = parts(&made(DAY));
    let [other_ca, _, other_key] = parts(&made(DAY));
    let elsewhere = Identity::new(&["host".to_owned()], LIFETIME, SystemTime::now()).unwrap();
    let [far_ca, far, far_key] = parts(&elsewhere);
    let [old_ca, old, old_key] = parts(&made(DAY * 91));
    let [early_ca, early, early_key] =
        parts(&Identity::new(&here().names(), LIFETIME, SystemTime::now() + DAY * 2).unwrap());
    let many = ca.repeat(5);
    let half = key.get(..60).unwrap();
    for (ca, certificate, key, wanted) in [
        (
            "",
            &*certificate,
            &*key,
            "ca.crt is not PEM of what it should be",
        ),
        (
            "rubbish",
            &certificate,
            &key,
            "ca.crt is not PEM of what it should be",
        ),
        (
            &key,
            &certificate,
            &key,
            "ca.crt is not PEM of what it should be",
        ),
        (
            &many,
            &certificate,
            &key,
            "ca.crt has more than 4 certificates",
        ),
        (&ca, "", &key, "tls.crt is not PEM of what it should be"),
        (
            &ca,
            "rubbish",
            &key,
            "tls.crt is not PEM of what it should be",
        ),
        (&ca, &key, &key, "tls.crt is not PEM of what it should be"),
        (
            &ca,
            &certificate,
            "",
            "tls.key is not PEM of what it should be",
        ),
        (
            &ca,
            &certificate,
            half,
            "tls.key is not PEM of what it should be",
        ),
        (
            &ca,
            &certificate,
            &certificate,
            "tls.key is not PEM of what it should be",
        ),
        (
            &ca,
            &certificate,
            &other_key,
            "tls.key is not the key of tls.crt",
        ),
        (
            &other_ca,
            &certificate,
            &key,
            "tls.crt is not signed by ca.crt",
        ),
        (&far_ca, &far, &far_key, "tls.crt is not for 127.0.0.1"),
        (&old_ca, &old, &old_key, "tls.crt has expired"),
        (
            &early_ca,
            &early,
            &early_key,
            "tls.crt is of a time to come",
        ),
        (&ca, &certificate, &key, ""),
    ] {
        let read = Identity::read(ca, certificate, key);
        let checked = read.and_then(|read| read.check(&here().names(), SystemTime::now()));
        let found = checked.err().map(|flaw| flaw.to_string());
        assert_eq!(found.unwrap_or_default(), wanted);
    }
}
