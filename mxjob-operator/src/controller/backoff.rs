//! Growing waits between attempts.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

const FIRST_MILLIS: u64 = 500;
const LONGEST_MILLIS: u64 = 60_000;

/// The wait after that many failures in a row: 0.5 s, 1 s, 2 s … 60 s, each shortened by up to a
/// quarter so that those who failed together do not come back together.
pub(super) fn wait(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    let full = (FIRST_MILLIS << doublings).min(LONGEST_MILLIS);
    // A hasher's keys are random; nothing here needs better randomness than that.
    let random = RandomState::new().hash_one(failures) % 256;
    Duration::from_millis(full - full * random / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end_at_a_minute() {
        for (failures, millis) in [
            (1, 500),
            (2, 1_000),
            (4, 4_000),
            (8, 60_000),
            (u32::MAX, 60_000),
        ] {
            let wait = wait(failures).as_millis();
            assert!(
                (millis * 3 / 4..=millis).contains(&wait),
                "{failures}: {wait}"
            );
        }
    }
}
