//! What somebody meant who wrote a name that is not known.

/// "unknown `what` `name`", with the likeliest of the known names or all of them.
pub(crate) fn unknown<S: AsRef<str>>(what: &str, name: &str, known: &[S]) -> String {
    match closest(name, known) {
        Some(meant) => format!("unknown {what} `{name}`: did you mean `{meant}`?"),
        None if known.is_empty() => format!("unknown {what} `{name}`"),
        None => format!("unknown {what} `{name}`: use one of {}", list(known)),
    }
}

/// The names in backticks, separated by commas.
pub(crate) fn list<S: AsRef<str>>(names: &[S]) -> String {
    names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The known name that is most like `name`; of equals the first.
fn closest<'a, S: AsRef<str>>(name: &str, known: &'a [S]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let near = |known: &str| distance(known) <= known.len().max(name.len()).div_ceil(3).min(4);
    known
        .iter()
        .map(AsRef::as_ref)
        .filter(|known| near(known))
        .min_by_key(|known| distance(known))
}
