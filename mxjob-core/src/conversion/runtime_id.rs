//! The `RuntimeId` of a job that names none.

use serde_json::Value;

use super::sections::{SPEC, Sections, fields_mut};

/// Its key in a spec.
pub(super) const KEY: &str = "RuntimeId";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// How many of them can come first.
const FIRST: u64 = 26;
/// How many there are.
const ALL: u64 = 36;
/// Characters of an id.
pub(crate) const LENGTH: usize = 4;

/// The `RuntimeId` that follows from a job's uid: the 64-bit FNV-1a hash of the uid's bytes, written
/// from its low end, first one of the 26 letters, then three of the letters and digits. The API server
/// gives an object its uid before it is converted to be stored, so the id is stored with it, before any
/// pod is there. Objects may have been stored without: the function must stay as it is.
pub(super) fn of(uid: &str) -> String {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = uid.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    let digit = |place| {
        let base = if place == 0 { FIRST } else { ALL };
        let at = usize::try_from(hash % base).unwrap_or(0);
        hash /= base;
        char::from(LETTERS.get(at).copied().unwrap_or(b'a'))
    };
    (0..LENGTH).map(digit).collect()
}

/// Writes it where none is given.
pub(super) fn fill(uid: &str, content: &mut Sections) {
    if let Some(spec) = fields_mut(content, SPEC).filter(|_| !uid.is_empty())
        && given(spec.get(KEY)).is_none()
    {
        spec.insert(KEY.to_owned(), of(uid).into());
    }
}

/// The one that is given.
pub(super) fn given(id: Option<&Value>) -> Option<&Value> {
    id.filter(|id| !id.is_null() && **id != "")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // contract: 12.14
    // promise: P32
    #[test]
    fn an_id_follows_from_the_uid_for_ever() {
        for (uid, id) in [
            // By another implementation.
            ("u-1", "e9c9"),
            ("5c0c9f6e-7d0f-4b7c-9f5e-0d7c2b7f9a11", "rauj"),
            ("5c0c9f6e-7d0f-4b7c-9f5e-0d7c2b7f9a12", "quab"),
        ] {
            assert_eq!(of(uid), id, "{uid}");
        }
    }

    // promise: P32
    #[test]
    fn ids_are_four_letters_and_digits_and_differ() {
        let ids: BTreeSet<_> = (0..1000).map(|uid| of(&format!("uid-{uid}"))).collect();
        assert!(ids.len() > 990, "{}", ids.len());
        for id in ids {
            assert_eq!(id.len(), LENGTH);
            assert!(
                id.starts_with(|first: char| first.is_ascii_lowercase()),
                "{id}"
            );
            assert!(id.bytes().all(|byte| LETTERS.contains(&byte)), "{id}");
        }
    }
}
