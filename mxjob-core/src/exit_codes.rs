//! Sets of exit codes, as manifests write them.

use std::ops::RangeInclusive;

/// A set of exit codes, like `["137", "139-255"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitCodes(Vec<RangeInclusive<i32>>);

impl ExitCodes {
    /// Codes of processes that a signal ended: 128 to 255, the default of `retryableExitCodes`.
    pub fn signals() -> Self {
        Self(vec![128..=255])
    }

    /// Reads `"N"` or `"N-M"` entries with 1 <= N <= M <= 255; the first bad entry otherwise.
    pub fn parse<'a>(entries: &'a [String]) -> Result<Self, &'a str> {
        entries
            .iter()
            .map(|entry| parse_entry(entry).ok_or(entry.as_str()))
            .collect::<Result<_, &'a str>>()
            .map(Self)
    }

    /// True when `code` is one of them.
    pub fn contains(&self, code: i32) -> bool {
        self.0.iter().any(|range| range.contains(&code))
    }
}

fn parse_entry(entry: &str) -> Option<RangeInclusive<i32>> {
    let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
    let (first, last) = (parse_code(first)?, parse_code(last)?);
    (first <= last).then_some(first..=last)
}

/// Digits without sign or leading zero, as the CRD's pattern has it.
fn parse_code(text: &str) -> Option<i32> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|code| plain && (1..=255).contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: 2.7
    #[test]
    fn reads_codes_and_ranges() {
        let codes = ExitCodes::parse(&["1".into(), "130-140".into()]).unwrap();
        assert!(codes.contains(1) && codes.contains(130) && codes.contains(140));
        assert!(!codes.contains(0) && !codes.contains(2) && !codes.contains(141));
    }

    #[test]
    fn refuses_what_the_schema_refuses() {
        for bad in [
            "0", "256", "5-2", "1-", "-1", "+1", "01", "a", "", "1-2-3", " 1",
        ] {
            assert_eq!(ExitCodes::parse(&[bad.to_owned()]), Err(bad), "{bad:?}");
        }
    }

    // contract: 2.7
    #[test]
    fn an_empty_list_is_no_code() {
        assert!(!ExitCodes::parse(&[]).unwrap().contains(137));
    }
}
