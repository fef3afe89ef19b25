//! Who waits, and for how long.

use mxjob_core::{MxRole, ReplicaRole as _};

use super::*;

fn job(name: &str) -> JobKey {
    JobKey::new(MxRole::TABLE, "default", name)
}

#[tokio::test(start_paused = true)]
async fn jobs_take_turns() {
    let throttle = Throttle::default();
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(throttle.permit(&job("big")).await);
    }
    let order = Arc::new(Mutex::new(Vec::new()));
    let wait = |name: &'static str| {
        let (throttle, order) = (throttle.clone(), order.clone());
        tokio::spawn(async move {
            let permit = throttle.permit(&job(name)).await;
            order.lock().unwrap().push(name);
            permit.settle(Verdict::Fine);
        })
    };
    let mut waiting: Vec<_> = (0..50).map(|_| wait("big")).collect();
    tokio::task::yield_now().await;
    waiting.push(wait("small"));
    tokio::task::yield_now().await;
    held.pop();
    for one in waiting {
        one.await.unwrap();
    }
    let place = order
        .lock()
        .unwrap()
        .iter()
        .position(|name| *name == "small");
    assert!(place.unwrap() <= 2, "{place:?}");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_comes_last_but_for_one_at_a_time() {
    let throttle = Throttle::default();
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(throttle.permit(&job("a")).await);
    }
    let order = Arc::new(Mutex::new(String::new()));
    let wait = |leisure: bool| {
        let (throttle, order) = (throttle.clone(), order.clone());
        tokio::spawn(async move {
            let permit = if leisure {
                throttle.leisure().await
            } else {
                throttle.permit(&job("a")).await
            };
            order.lock().unwrap().push(if leisure { 'l' } else { 'j' });
            tokio::time::sleep(Duration::from_secs(1)).await;
            permit.settle(Verdict::Fine);
        })
    };
    let waiting = [true, true, true, false, false, false].map(wait);
    tokio::task::yield_now().await;
    held.truncate(12);
    for one in waiting {
        one.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), "ljjjll");
}

/// A throttle that lets through all that one ever does.
fn wide() -> Throttle {
    let throttle = Throttle::default();
    for _ in 0..200 {
        let mut state = throttle.lock();
        let now = Instant::now();
        state
            .limit
            .learn(Verdict::Fine, Duration::from_millis(5), true, now);
    }
    throttle
}

async fn at_once(throttle: &Throttle, name: &str) -> Option<Permit> {
    let wait = Duration::from_millis(1);
    tokio::time::timeout(wait, throttle.permit(&job(name)))
        .await
        .ok()
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_alone_may_send_all_and_keeps_to_its_share_beside_others() {
    let throttle = wide();
    let mut big = Vec::new();
    for _ in 0..100 {
        big.push(at_once(&throttle, "big").await.unwrap());
    }
    drop(at_once(&throttle, "small").await.unwrap());
    assert!(at_once(&throttle, "big").await.is_none());
    big.truncate(32);
    assert!(at_once(&throttle, "big").await.is_none());
    big.truncate(31);
    big.push(at_once(&throttle, "big").await.unwrap());
    let waits = tokio::spawn({
        let throttle = throttle.clone();
        async move { throttle.permit(&job("big")).await }
    });
    tokio::time::sleep(BETWEEN).await;
    assert!(!waits.is_finished());
    let held = at_once(&throttle, "big").await;
    assert!(held.is_some());
    let waited = tokio::time::timeout(Duration::from_millis(1), waits).await;
    assert!(waited.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_a_job_may_not_send_leaves_no_more_room_for_what_nobody_waits_for() {
    let throttle = wide();
    let mut big = Vec::new();
    for _ in 0..32 {
        big.push(at_once(&throttle, "big").await.unwrap());
    }
    let _small = at_once(&throttle, "small").await.unwrap();
    let waits = tokio::spawn({
        let throttle = throttle.clone();
        async move { throttle.permit(&job("big")).await }
    });
    tokio::task::yield_now().await;
    let _one = throttle.leisure().await;
    let wait = Duration::from_millis(1);
    assert!(
        tokio::time::timeout(wait, throttle.leisure())
            .await
            .is_err()
    );
    assert!(!waits.is_finished());
    waits.abort();
}

#[tokio::test(start_paused = true)]
async fn while_a_job_waits_what_nobody_waits_for_is_sent_now_and_then() {
    let throttle = Throttle::default();
    let job = job("a");
    let mut held = futures::future::join_all((0..15).map(|_| throttle.permit(&job))).await;
    drop(throttle.leisure().await);
    held.push(throttle.permit(&job).await);
    let waits = throttle.permit(&job);
    let mut waits = Box::pin(waits);
    assert!(futures::poll!(&mut waits).is_pending());
    let begin = Instant::now();
    let seldom = throttle.leisure();
    let mut seldom = Box::pin(seldom);
    assert!(futures::poll!(&mut seldom).is_pending());
    // There is room, and a job that waits takes it.
    held.pop();
    assert!(futures::poll!(&mut seldom).is_pending());
    held.push(waits.await);
    let waits = throttle.permit(&job);
    let mut waits = Box::pin(waits);
    assert!(futures::poll!(&mut waits).is_pending());
    tokio::time::advance(PACE).await;
    held.pop();
    drop(seldom.await);
    assert_eq!(begin.elapsed(), PACE);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_gives_up_takes_no_permit_with_it() {
    let throttle = Throttle::default();
    let job = job("a");
    let sixteen = || futures::future::join_all((0..16).map(|_| throttle.permit(&job)));
    let held = sixteen().await;
    let gives_up = tokio::time::timeout(Duration::from_secs(1), throttle.permit(&job)).await;
    assert!(gives_up.is_err());
    drop(held);
    assert!(
        tokio::time::timeout(Duration::from_secs(1), sixteen())
            .await
            .is_ok()
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_the_server_asked_for_a_pause() {
    let throttle = Throttle::default();
    throttle.pause(Duration::from_secs(3));
    let start = Instant::now();
    let _permit = throttle.permit(&job("a")).await;
    assert_eq!(start.elapsed().as_secs(), 3);
}
