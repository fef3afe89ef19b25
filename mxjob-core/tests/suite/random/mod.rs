//! Random lives of a job under faults.

mod history;
mod invariants;
mod life;
pub(crate) mod schedule;
mod user;

use life::Life;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use schedule::{Schedule, schedule};

/// How often a failing schedule is tried to be made shorter.
const SHORTER: u32 = 4_000;

/// The schedule of that seed, and shorter ones.
pub(crate) fn draw(seed: u64) -> impl ValueTree<Value = Schedule> {
    // Of an xorshift generator the first numbers would hardly differ between seeds.
    let mut bytes = [0x5a; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    schedule().new_tree(&mut runner).unwrap()
}

/// Lives the schedule of that seed; of one that fails, says the shortest found that still does.
pub(crate) fn live(seed: u64) -> Result<(), String> {
    let mut tree = draw(seed);
    let Err(mut why) = Life::live(&tree.current()) else {
        return Ok(());
    };
    let mut shortest = tree.current();
    let mut goes_on = tree.simplify();
    for _ in 0..SHORTER {
        if !goes_on {
            break;
        }
        let shorter = tree.current();
        goes_on = match Life::live(&shorter) {
            Err(also) => {
                (why, shortest) = (also, shorter);
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
    }
    let Schedule { manifest, ops, .. } = &shortest;
    Err(format!(
        "{why}\nMXJOB_RANDOM_SEED={seed} ({} leader(s), debounced: {})\n{manifest}\n{ops:#?}",
        shortest.leaders, shortest.debounced
    ))
}
