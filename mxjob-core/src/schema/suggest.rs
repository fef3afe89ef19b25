//! The name that was probably meant.

/// The name nearest to `given`, if one is near.
pub(crate) fn suggestion<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = given.to_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&lower, &name.to_lowercase());
    let near = names
        .into_iter()
        .map(|name| (name, likeness(name)))
        .filter(|(_, likeness)| *likeness > NEAR);
    near.max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(name, _)| name)
}

/// Below this, a suggestion puzzles more than it helps.
const NEAR: f64 = 0.85;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_typing_errors_and_other_letter_case() {
        let names = ["replicas", "restartPolicy", "template", "label"];
        assert_eq!(suggestion("replica", names), Some("replicas"));
        assert_eq!(suggestion("restartpolicy", names), Some("restartPolicy"));
        assert_eq!(suggestion("tempalte", names), Some("template"));
        assert_eq!(suggestion("suspend", names), None);
    }
}
