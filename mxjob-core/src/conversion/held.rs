//! The annotation that holds what a version cannot show.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::rest::Leaf;
use super::sections::{REST, STATUS, Sections, fields_mut};
use crate::api::Version;

/// Annotation of objects whose version cannot say all that there is, as JSON:
/// `{"origin": <version>, "rest": {<version>: [{"path": […], "was": …, "is": …}]}}`.
pub const CONVERSION_ANNOTATION: &str = "mxjob.kubeflow.org/conversion";

/// What the annotation says.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// The version that the object was made at.
    pub(super) origin: Version,
    /// By the name of the version that a conversion leads to, what it lacks there.
    pub(super) rest: Map<String, Value>,
}

impl Held {
    pub(super) fn nothing(origin: Version) -> Self {
        Self {
            origin,
            rest: Map::new(),
        }
    }

    /// Takes the annotation out of an object's metadata; `None`: there is none that can be read.
    pub(super) fn take(object: &mut Map<String, Value>) -> Option<Self> {
        let metadata = object.get_mut("metadata")?.as_object_mut()?;
        let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
        let text = annotations.shift_remove(CONVERSION_ANNOTATION)?;
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
        Self::parse(text.as_str()?)
    }

    /// What an object's annotation says; `None`: there is none that can be read.
    pub(super) fn read(object: &Value) -> Option<Self> {
        let annotations = object.get("metadata")?.get("annotations")?;
        Self::parse(annotations.get(CONVERSION_ANNOTATION)?.as_str()?)
    }

    /// Reads the annotation's text.
    fn parse(text: &str) -> Option<Self> {
        let mut held: Value = serde_json::from_str(text).ok()?;
        let origin = Version::parse(held.get("origin")?.as_str()?)?;
        let rest = match held.get_mut("rest").map(Value::take) {
            Some(Value::Object(rest)) => rest,
            _ => Map::new(),
        };
        Some(Self { origin, rest })
    }

    /// Puts the annotation into an object's metadata.
    pub(super) fn put(self, object: &mut Map<String, Value>) {
        let mut held = Map::new();
        held.insert("origin".to_owned(), self.origin.name().into());
        held.insert("rest".to_owned(), Value::Object(self.rest));
        let held = text(&Value::Object(held));
        let metadata = object.entry("metadata").or_insert_with(empty);
        let annotations = metadata
            .as_object_mut()
            .map(|metadata| metadata.entry("annotations").or_insert_with(empty));
        if let Some(annotations) = annotations {
            if annotations.is_null() {
                *annotations = empty();
            }
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(CONVERSION_ANNOTATION.to_owned(), held.into());
            }
        }
    }

    /// What a conversion to `version` lacks.
    pub(super) fn leaves(&self, version: Version) -> Vec<Leaf> {
        let leaves = self.rest.get(version.name());
        leaves.cloned().map(read_all).unwrap_or_default()
    }

    /// Takes out what a conversion to `version` lacks.
    pub(super) fn take_leaves(&mut self, version: Version) -> Vec<Leaf> {
        let leaves = self.rest.shift_remove(version.name());
        leaves.map(read_all).unwrap_or_default()
    }
}

/// What can be read of a list.
fn read_all(leaves: Value) -> Vec<Leaf> {
    match leaves {
        Value::Array(leaves) => leaves.into_iter().filter_map(Leaf::read).collect(),
        _ => Vec::new(),
    }
}

/// Takes what a view's status cannot say of the stored one out of it.
pub(super) fn take_status(content: &mut Sections) -> Vec<Leaf> {
    let status = fields_mut(content, STATUS);
    let text = status.and_then(|status| status.shift_remove(REST));
    let leaves = text.and_then(|text| serde_json::from_str(text.as_str()?).ok());
    let mut leaves = leaves.map(read_all).unwrap_or_default();
    // Of the status alone: who may write that may not write the rest.
    leaves.retain(|leaf| leaf.section() == STATUS);
    leaves
}

/// Puts it there, as JSON. The API server keeps it with the status: a write of the main resource
/// changes neither.
pub(super) fn put_status(leaves: Vec<Leaf>, content: &mut Sections) {
    if leaves.is_empty() {
        return;
    }
    let leaves: Value = leaves.into_iter().map(Leaf::write).collect();
    if let Some(status) = fields_mut(content, STATUS) {
        status.insert(REST.to_owned(), text(&leaves).into());
    }
}

/// A value as JSON: the same text for the same thing, so that what has not changed is not written again.
fn text(value: &Value) -> String {
    // JSON has a text for every value.
    serde_json::to_string(&Sorted(value)).unwrap_or_default()
}

/// A value with the fields of its objects by their names.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(key, _)| *key);
                let fields = fields.into_iter();
                serializer.collect_map(fields.map(|(key, value)| (key, Sorted(value))))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            plain => plain.serialize(serializer),
        }
    }
}

/// Takes the annotation off an object for good; what of its spec is lost with it, in words.
pub fn forget(object: &mut Value) -> Vec<String> {
    let held = object.as_object_mut().and_then(Held::take);
    let rest = held.map(|held| held.rest).unwrap_or_default();
    let words = |(of, leaves): (String, Value)| {
        let leaves = read_all(leaves).into_iter();
        leaves.flat_map(|leaf| leaf.words(&of)).collect::<Vec<_>>()
    };
    rest.into_iter().flat_map(words).collect()
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// A section of that name for what a conversion to `version` lacks, if it lacks anything.
pub(super) fn rest_of(version: Version, leaves: Vec<Leaf>) -> Map<String, Value> {
    let mut rest = Map::new();
    if !leaves.is_empty() {
        let leaves = leaves.into_iter().map(Leaf::write).collect();
        rest.insert(version.name().to_owned(), Value::Array(leaves));
    }
    rest
}
