//! `replicas = 1`, `1..`, `0..=4`: how many replicas a role may have.

use syn::{Expr, ExprRange, Meta, RangeLimits};

use super::keys::ungroup;
use super::value::{At, given, number};
use crate::errors::mistake;

/// Fewest and most replicas of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replicas {
    /// Fewest.
    pub(crate) min: u32,
    /// Most; `None`: no limit.
    pub(crate) max: Option<u32>,
}

impl Replicas {
    /// True when a role may have that many.
    pub(crate) fn contains(self, count: u32) -> bool {
        count >= self.min && self.max.is_none_or(|max| count <= max)
    }
}

/// The range after `replicas =`.
pub(super) fn replica_range(meta: &Meta) -> darling::Result<At<Replicas>> {
    let value = given(meta, "1")?;
    let range = match &value {
        Expr::Range(range) => bounds(range)?,
        single => {
            let count = bound(single, MOST_REPLICAS)?;
            Replicas {
                min: count,
                max: Some(count),
            }
        }
    };
    if range.max == Some(0) {
        let message = "`replicas` allows no replica at all: write `0..=1`, or remove the role";
        return Err(mistake(value, message));
    }
    Ok(At::new(range, value))
}

/// The number after `default =`.
pub(super) fn replica_count(meta: &Meta) -> darling::Result<At<u32>> {
    let value = given(meta, "1")?;
    let count = number(&value).ok_or_else(|| {
        let message = "`default` needs a whole number, 0 or more: write `default = 1`";
        mistake(&value, message)
    })?;
    let count = small("default", count, MOST_REPLICAS, &value)?;
    Ok(At::new(count, value))
}

fn bounds(range: &ExprRange) -> darling::Result<Replicas> {
    // Of `0..4` the end is not in the range.
    let beyond = u32::from(matches!(range.limits, RangeLimits::HalfOpen(_)));
    let mut errors = darling::Error::accumulator();
    let mut read = |end: &Option<Box<Expr>>, most| {
        let end = end.as_deref()?;
        errors.handle(bound(end, most))
    };
    let min = read(&range.start, MOST_REPLICAS).unwrap_or(0);
    let end = read(&range.end, MOST_REPLICAS + beyond);
    errors.finish()?;
    let max = end.map(|end| end.checked_sub(beyond));
    match max {
        None => Ok(Replicas { min, max: None }),
        Some(Some(max)) if max >= min => Ok(Replicas {
            min,
            max: Some(max),
        }),
        Some(_) => Err(mistake(
            range,
            "`replicas` is an empty range: write the smaller number first, like `2..=5`",
        )),
    }
}

fn bound(value: &Expr, most: u32) -> darling::Result<u32> {
    let count = number(&ungroup(value.clone())).ok_or_else(|| {
        let message = "`replicas` needs whole numbers, 0 or more: write `1`, `1..` or `0..=4`";
        mistake(value, message)
    })?;
    small("replicas", count, most, value)
}

/// Most replicas of a job in mxjob-core.
const MOST_REPLICAS: u32 = 100_000;

/// `count` as a number of replicas, not above `most`.
fn small(key: &str, count: u64, most: u32, at: &Expr) -> darling::Result<u32> {
    let small = u32::try_from(count).ok().filter(|count| *count <= most);
    small.ok_or_else(|| {
        let message = format!(
            "`{key}` is beyond the {MOST_REPLICAS} replicas that a job may have: write a smaller number"
        );
        mistake(at, message)
    })
}
