//! The keys that are named are the ones that are read.

use syn::Meta;

use crate::attr::keys::Keys;
use crate::attr::set::ModeKeys;
use crate::attr::{CrdKeys, PortKeys, RoleKeys, SetKeys};

/// The keys of a list that have no field.
fn without_field<K: Keys>() -> Vec<&'static str> {
    let unknown = |key: &&&str| {
        let path = syn::parse_str(key).map(Meta::Path).expect("a key");
        let error = K::of(vec![path]).err().map(|error| error.to_string());
        error.is_some_and(|error| error.contains("Unknown field"))
    };
    K::KNOWN.iter().filter(unknown).copied().collect()
}

#[test]
fn every_key_has_its_field() {
    let without = [
        without_field::<SetKeys>(),
        without_field::<ModeKeys>(),
        without_field::<CrdKeys>(),
        without_field::<PortKeys>(),
        without_field::<RoleKeys>(),
    ];
    assert_eq!(without.concat(), [""; 0]);
}
