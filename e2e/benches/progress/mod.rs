//! Waiting for much, and telling how far it is.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use e2e::usage::Usage;
use futures::{Stream, TryStreamExt as _};
use tokio::time::sleep;

/// Something is broken where nothing happens for so long.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);
/// An operator is done when it takes no more than this of a processor for so long.
const IDLE: (f64, Duration) = (0.003, Duration::from_secs(5));
/// How often progress is told of what others do.
const PERIOD: Duration = Duration::from_secs(5);

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Does all of it, and tells how far it is.
pub(crate) async fn all(what: &str, work: impl Stream<Item = Result<()>>) -> Result<()> {
    let (mut done, mut told) = (0, Instant::now());
    let mut work = std::pin::pin!(work);
    while let Some(()) = work.try_next().await? {
        done += 1;
        if told.elapsed() >= PERIOD {
            say(&format!("{done} {what}"));
            told = Instant::now();
        }
    }
    say(&format!("{done} {what}, all"));
    Ok(())
}

/// Waits until there are so many, and tells how many there are.
pub(crate) async fn grown(
    what: &str,
    wanted: u32,
    count: impl AsyncFn() -> Result<u32>,
) -> Result<()> {
    let (mut most, mut since) = (0, Instant::now());
    loop {
        let there = count().await?;
        if there > most {
            (most, since) = (there, Instant::now());
        }
        say(&format!("{there} of {wanted} {what}"));
        if there >= wanted {
            return Ok(());
        }
        ensure!(
            since.elapsed() < PATIENCE,
            "no more {what} for {PATIENCE:?}"
        );
        sleep(PERIOD).await;
    }
}

/// Waits until a process has nothing more to do.
pub(crate) async fn settled(pid: u32) -> Result<Usage> {
    let (share, period) = IDLE;
    let start = Instant::now();
    let mut before = Usage::of(pid)?;
    loop {
        sleep(period).await;
        let now = Usage::of(pid)?;
        if now.processor - before.processor <= share * period.as_secs_f64() {
            say(&format!("the operator is done, {:.1} MiB", now.memory));
            return Ok(now);
        }
        ensure!(
            start.elapsed() < PATIENCE,
            "the operator is busy for {PATIENCE:?}"
        );
        before = now;
    }
}

pub(crate) fn say(what: &str) {
    println!("{:>5.0} s  {what}", BEGIN.elapsed().as_secs_f64());
}
