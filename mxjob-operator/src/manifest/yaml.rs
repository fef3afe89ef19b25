//! From text to trees of values that know their places.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Location, MessageFormatter as _, Spanned, UserMessageFormatter};

use super::document::Position;

/// A value and where it stands.
pub(super) type Node = Spanned<Content>;

/// What YAML can hold; mappings in the order of the text.
#[derive(Debug)]
pub(super) enum Content {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Spanned<String>, Node)>),
}

/// Why a text is no YAML.
#[derive(Debug)]
pub(super) struct SyntaxError {
    /// Where.
    pub(super) position: Position,
    /// Why.
    pub(super) message: String,
}

/// Every document of a text that is not empty. One that cannot be parsed ends it: where the next one
/// begins is not known then.
pub(super) fn documents(text: &str) -> Result<Vec<Node>, SyntaxError> {
    serde_saphyr::from_multiple_with_options(text, options()).map_err(|error| {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        SyntaxError {
            position: location.into(),
            message: message(&error),
        }
    })
}

/// Every object of a text, those of lists as if each was a document of its own, as `kubectl get` prints
/// several; true: it is one of these.
pub(super) fn objects(text: &str) -> Result<Vec<(Node, bool)>, SyntaxError> {
    let mut objects = Vec::new();
    for node in documents(text)? {
        match items(node) {
            Ok(items) => objects.extend(items.into_iter().map(|item| (item, true))),
            Err(node) => objects.push((node, false)),
        }
    }
    Ok(objects)
}

/// The items of a list of objects; anything else comes back.
fn items(mut node: Node) -> Result<Vec<Node>, Node> {
    let Content::Map(entries) = &mut node.value else {
        return Err(node);
    };
    let is_list = entries.iter().any(|(key, value)| {
        key.value == "kind" && matches!(&value.value, Content::Text(kind) if kind.ends_with("List"))
    });
    let mut lists = entries.iter_mut().filter(|(key, _)| key.value == "items");
    match lists.next() {
        Some((
            _,
            Spanned {
                value: Content::List(items),
                ..
            },
        )) if is_list => Ok(std::mem::take(items)),
        _ => Err(node),
    }
}

/// Most values in a file, aliases expanded: a job of all roles has a few thousand.
const MAX_VALUES: usize = 250_000;
/// Most lists and mappings in each other: a job has a dozen.
const MAX_DEPTH: usize = 64;

/// As kubectl reads YAML: 0644 is octal, yes and on are true. The limits stop alias bombs.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: MAX_VALUES,
            max_depth: MAX_DEPTH,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_VALUES,
        },
    }
}

/// What is wrong, without the place.
fn message(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error::{AliasError, AliasReplayLimitExceeded, Budget, DuplicateMappingKey};
    match error {
        AliasError { error, .. } => message(error),
        DuplicateMappingKey { key: Some(key), .. } => format!("{key} is there twice: keep one"),
        Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => format!("nested too deep: {MAX_DEPTH} levels at most"),
        AliasReplayLimitExceeded { .. } | Budget { .. } => {
            format!("too large, with its aliases expanded: {MAX_VALUES} values at most")
        }
        other => format!(
            "not valid YAML: {}",
            UserMessageFormatter.format_message(other)
        ),
    }
}

/// The integer that it is.
fn whole(value: f64) -> Option<i64> {
    // Without an exponent, however large; of 2^53 and more nobody knows whether it was meant so.
    let is_sure = value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0;
    is_sure.then(|| format!("{value:.0}").parse().ok())?
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Content, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Content, E> {
        // A whole one is an integer, as kubectl has it.
        if let Some(whole) = whole(value) {
            return Ok(Content::Number(whole.into()));
        }
        let number = serde_json::Number::from_f64(value);
        number
            .map(Content::Number)
            .ok_or_else(|| E::custom("infinity and NaN cannot stand in a manifest"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Content, E> {
        Ok(Content::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Content::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Content, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Content::Map(map))
    }
}
