//! `replicas = 1`, `1..`, `0..=4`: how many replicas a role may have.

use syn::{Expr, ExprRange, RangeLimits};

use super::keys::ungroup;
use super::value::{At, number};
use crate::errors::Errors;

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

impl At<Replicas> {
    /// Reads the range after `replicas =`.
    pub(crate) fn read(value: &Expr, errors: &mut Errors) -> Option<Self> {
        let range = match value {
            Expr::Range(range) => bounds(range, errors)?,
            single => {
                let count = bound(single, MOST_REPLICAS, errors)?;
                Replicas {
                    min: count,
                    max: Some(count),
                }
            }
        };
        if range.max == Some(0) {
            let message = "`replicas` allows no replica at all: write `0..=1`, or remove the role";
            errors.at(value, message);
            return None;
        }
        Some(Self::new(range, value))
    }
}

impl At<u32> {
    /// Reads the number after `default =`.
    pub(crate) fn read(value: &Expr, errors: &mut Errors) -> Option<Self> {
        let Some(count) = number(value) else {
            let message = "`default` needs a whole number, 0 or more: write `default = 1`";
            errors.at(value, message);
            return None;
        };
        let count = small("default", count, MOST_REPLICAS, value, errors)?;
        Some(Self::new(count, value))
    }
}

fn bounds(range: &ExprRange, errors: &mut Errors) -> Option<Replicas> {
    // Of `0..4` the end is not in the range.
    let beyond = u32::from(matches!(range.limits, RangeLimits::HalfOpen(_)));
    let start = range.start.as_deref();
    let lower = start.map(|start| bound(start, MOST_REPLICAS, errors));
    let end = range.end.as_deref();
    let upper = end.map(|end| bound(end, MOST_REPLICAS + beyond, errors));
    let min = lower.unwrap_or(Some(0))?;
    let Some(end) = upper else {
        return Some(Replicas { min, max: None });
    };
    let max = match range.limits {
        RangeLimits::Closed(_) => Some(end?),
        RangeLimits::HalfOpen(_) => end?.checked_sub(1),
    };
    if let Some(max) = max.filter(|max| *max >= min) {
        return Some(Replicas {
            min,
            max: Some(max),
        });
    }
    errors.at(
        range,
        "`replicas` is an empty range: write the smaller number first, like `2..=5`",
    );
    None
}

fn bound(value: &Expr, most: u32, errors: &mut Errors) -> Option<u32> {
    let Some(count) = number(&ungroup(value.clone())) else {
        let message = "`replicas` needs whole numbers, 0 or more: write `1`, `1..` or `0..=4`";
        errors.at(value, message);
        return None;
    };
    small("replicas", count, most, value, errors)
}

/// Most replicas of a job in mxjob-core.
const MOST_REPLICAS: u32 = 100_000;

/// `count` as a number of replicas, not above `most`.
fn small(key: &str, count: u64, most: u32, at: &Expr, errors: &mut Errors) -> Option<u32> {
    let small = u32::try_from(count).ok().filter(|count| *count <= most);
    if small.is_none() {
        errors.at(
            at,
            format!("`{key}` is beyond the {MOST_REPLICAS} replicas that a job may have: write a smaller number"),
        );
    }
    small
}
