//! `$(NAME)` in commands, arguments and variables, as Kubernetes expands it.

/// Replaces `$(NAME)` by what `lookup` has for it and `$$` by `$`; an unknown name stays as it is.
pub(super) fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'))
        {
            expanded.push_str(&lookup(name).unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of Kubernetes' own expansion test, `third_party/forked/golang/expansion`.
    #[test]
    fn expands_as_kubernetes_does() {
        let known = |name: &str| match name {
            "VAR_A" => Some("A".to_owned()),
            "VAR_EMPTY" => Some(String::new()),
            "VAR_REF" => Some("$(VAR_A)".to_owned()),
            _ => None,
        };
        for (text, expected) in [
            ("$(VAR_A)", "A"),
            ("___$(VAR_A)___$(VAR_A)", "___A___A"),
            ("$$(VAR_A)", "$(VAR_A)"),
            ("$$$(VAR_A)", "$A"),
            ("$$$$(VAR_A)", "$$(VAR_A)"),
            ("$(VAR_DNE)", "$(VAR_DNE)"),
            ("foo$(VAR_EMPTY)bar", "foobar"),
            ("$(VAR_REF)", "$(VAR_A)"),
            ("$VAR_A", "$VAR_A"),
            ("${VAR_A}", "${VAR_A}"),
            ("$(VAR_A", "$(VAR_A"),
            ("$(VAR_A)$", "A$"),
            ("$$", "$"),
            ("cost: $5", "cost: $5"),
            ("", ""),
        ] {
            assert_eq!(expand(text, known), expected, "{text:?}");
        }
    }
}
