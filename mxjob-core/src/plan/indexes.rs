//! Sets of indexes as status keeps them, like `0-2,5`.

use std::collections::BTreeSet;

/// Reads a set; what is not a number below `limit` is left out, so that a status that somebody
/// wrote by hand can do no harm.
pub(super) fn parse(text: Option<&str>, limit: u32) -> BTreeSet<u32> {
    let mut set = BTreeSet::new();
    for part in text.unwrap_or_default().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            set.extend(first..limit.min(last.saturating_add(1)));
        }
    }
    set
}

/// Writes a set; an empty one is `None`.
pub(super) fn render(set: &BTreeSet<u32>) -> Option<String> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &index in set {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
            _ => runs.push((index, index)),
        }
    }
    let part = |&(first, last): &(u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    (!runs.is_empty()).then(|| runs.iter().map(part).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["0", "0-2", "0-2,5", "1,3,5-9"] {
            assert_eq!(render(&parse(Some(text), 10)).as_deref(), Some(text));
        }
        assert_eq!(render(&BTreeSet::new()), None);
    }

    #[test]
    fn nonsense_and_indexes_out_of_range_are_left_out() {
        assert_eq!(
            parse(Some("a,3-1,-,7-4000000000,,2"), 9),
            BTreeSet::from([2, 7, 8])
        );
        assert_eq!(parse(None, 9), BTreeSet::new());
    }
}
