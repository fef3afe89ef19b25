//! YAML as others read it, too: kubectl's reader takes less than the language allows.

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::{DoubleQuoted, ser};

/// The object in YAML.
pub(crate) fn to_yaml(object: &impl Serialize) -> Result<String, ser::Error> {
    let value = serde_json::to_value(object).map_err(ser::Error::custom)?;
    serde_saphyr::to_string(&Plain(&value))
}

/// A value whose texts stand in quotes where others could not read a block of lines.
struct Plain<'a>(&'a Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if is_misread(text) => DoubleQuoted(text).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Plain)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(key, value)| (key, Plain(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

/// A block of lines that begins with a tab: other readers take it for its depth.
fn is_misread(text: &str) -> bool {
    text.contains('\n') && text.trim_start_matches('\n').starts_with('\t')
}
