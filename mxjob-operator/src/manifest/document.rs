//! A document: its value, and where each field of it stands in the file.

use std::collections::HashMap;

use mxjob_core::check::Path;
use serde_json::{Map, Value};
use serde_saphyr::Location;

use super::yaml::{Content, Node};

/// A place in a file. Line and column count from 1; 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// Line.
    pub(crate) line: u64,
    /// Character in the line.
    pub(crate) column: u64,
}

impl Position {
    /// A place counted in characters of memory.
    pub(crate) fn at(line: usize, column: usize) -> Self {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Self {
            line: number(line),
            column: number(column),
        }
    }
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
        }
    }
}

/// A document of a manifest.
#[derive(Debug)]
pub(crate) struct Document {
    /// Its number in the file, from 1.
    pub(crate) number: usize,
    /// Its value; until it is judged with what is null in it.
    pub(crate) value: Value,
    start: Position,
    places: HashMap<String, Position>,
}

impl Document {
    /// The document that a tree holds.
    pub(super) fn new(number: usize, node: Node) -> Self {
        let mut places = HashMap::new();
        let start = place(&node);
        let value = value(node, Path::ROOT, &mut places);
        Self {
            number,
            value,
            start,
            places,
        }
    }

    /// Its fields in the order of the text: where each stands, and its path.
    pub(super) fn fields(&self) -> impl Iterator<Item = (Position, &str)> {
        let mut fields: Vec<_> = self.places.iter().collect();
        fields.sort_by_key(|(path, at)| (**at, path.len()));
        fields.into_iter().map(|(path, at)| (*at, path.as_str()))
    }

    /// Whether the text has that field.
    pub(super) fn has(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    /// Where a field stands, or the nearest thing around it that is there: the key of a mapping's
    /// entry, the first character of a list's item.
    pub(crate) fn position(&self, path: &str) -> Position {
        let mut path = path;
        loop {
            if let Some(position) = self.places.get(path) {
                return *position;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = path.get(..end).unwrap_or_default(),
                None => return self.start,
            }
        }
    }
}

/// Where a value stands; of what an alias or a merge brought, where it was written.
fn place(node: &Node) -> Position {
    if node.defined == Location::UNKNOWN {
        node.referenced.into()
    } else {
        node.defined.into()
    }
}

fn value(node: Node, path: Path<'_>, places: &mut HashMap<String, Position>) -> Value {
    match node.value {
        Content::Null => Value::Null,
        Content::Bool(value) => Value::Bool(value),
        Content::Number(value) => Value::Number(value),
        Content::Text(value) => Value::String(value),
        Content::List(items) => {
            let items = items.into_iter().enumerate().map(|(index, item)| {
                let path = path.item(index);
                places.insert(path.to_string(), place(&item));
                value(item, path, places)
            });
            Value::Array(items.collect())
        }
        Content::Map(entries) => {
            let mut fields = Map::with_capacity(entries.len());
            for (key, entry) in entries {
                let path = path.key(&key.value);
                let defined = if key.defined == Location::UNKNOWN {
                    key.referenced
                } else {
                    key.defined
                };
                places.insert(path.to_string(), defined.into());
                let field = value(entry, path, places);
                fields.insert(key.value, field);
            }
            Value::Object(fields)
        }
    }
}
