//! The model cluster answers as the real server does: the same random calls to both, over kinds,
//! names, preconditions, finalizers, owners, grace periods. `MXJOB_MODEL_CASES` plays that many
//! cases, `MXJOB_MODEL_SEED` the one of that seed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

#[path = "model/calls.rs"]
mod calls;
#[path = "model/sides.rs"]
mod sides;
#[path = "model/subject.rs"]
mod subject;

use anyhow::{Context as _, Result, ensure};
use calls::{Call, calls};
use e2e::ControlPlane;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sides::Sides;

/// Cases of a usual run.
const CASES: u64 = 12;

fn case(seed: u64) -> Vec<Call> {
    // Of seeds that are next to each other an xorshift generator draws nearly the same case.
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    calls().new_tree(&mut runner).unwrap().current()
}

#[tokio::test]
async fn the_model_answers_as_the_server_does() -> Result<()> {
    let variable = |name| std::env::var(name).ok().map(|text| text.parse::<u64>());
    let plane = ControlPlane::shared().await?;
    plane.install_crds(&[sides::definition()]).await?;
    let seeds = match variable("MXJOB_MODEL_SEED").transpose()? {
        Some(seed) => seed..seed + 1,
        None => 0..variable("MXJOB_MODEL_CASES").transpose()?.unwrap_or(CASES),
    };
    let mut answers = std::collections::BTreeMap::<String, usize>::new();
    for seed in seeds {
        let mut sides = Sides::new(plane).await?;
        let calls = case(seed);
        for (at, call) in calls.iter().enumerate() {
            let played = sides.play(call).await;
            let answer = played.with_context(|| {
                format!(
                    "MXJOB_MODEL_SEED={seed}, call {at}: {call:?}, after {:#?}",
                    &calls[..at]
                )
            })?;
            *answers.entry(answer).or_default() += 1;
        }
    }
    println!("{answers:#?}");
    if std::env::var_os("MXJOB_MODEL_SEED").is_none() {
        // A comparison of nothing but "not found" would prove little.
        for kind in ["Conflict", "AlreadyExists", "Invalid", "NotFound", "done"] {
            ensure!(
                answers.contains_key(kind),
                "no call was answered {kind}: {answers:?}"
            );
        }
    }
    Ok(())
}
