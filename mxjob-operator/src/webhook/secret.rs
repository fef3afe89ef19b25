//! What stands in the Secret that several operators share.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::identity::{AUTHORITY, CERTIFICATE, Flaw, Identity, KEY};
use super::rotation::Contents;

/// Who looks after it.
const OWNER: &str = "app.kubernetes.io/managed-by";
const OURS: &str = "mxjob-operator";
/// Somebody puts this on it who wants another certificate now.
const RENEW: &str = "mxjob.kubeflow.org/renew";
/// Under these names the next certificate is kept.
const NEXT: [(&str, &str); 3] = [
    (AUTHORITY, "next-ca.crt"),
    (CERTIFICATE, "next-tls.crt"),
    (KEY, "next-tls.key"),
];

/// Whether somebody else looks after it. One with nothing in it, which nobody has labelled, is nobody's.
pub(super) fn is_foreign(secret: &Secret) -> bool {
    match secret.labels().get(OWNER) {
        Some(owner) => owner != OURS,
        None => !is_empty(secret),
    }
}

fn is_empty(secret: &Secret) -> bool {
    secret.data.as_ref().is_none_or(BTreeMap::is_empty)
}

/// What can be read of it.
pub(super) fn read(secret: &Secret) -> Contents {
    let has = |name: &str| {
        let data = secret.data.as_ref();
        data.is_some_and(|data| data.contains_key(name))
    };
    let text = |name: &'static str| match secret.data.as_ref().and_then(|data| data.get(name)) {
        Some(bytes) => String::from_utf8(bytes.0.clone()).map_err(|_| Flaw::Unreadable(name)),
        None => Err(Flaw::Missing(name)),
    };
    let identity = |[authority, certificate, key]: [&'static str; 3]| {
        Identity::read(&text(authority)?, &text(certificate)?, &text(key)?)
    };
    let next = NEXT.map(|(_, name)| name);
    Contents {
        current: if is_empty(secret) {
            Err(Flaw::Nothing)
        } else {
            identity([AUTHORITY, CERTIFICATE, KEY])
        },
        next: next.iter().any(|name| has(name)).then(|| identity(next)),
        asked: secret.annotations().contains_key(RENEW),
    }
}

/// Writes this there, over the version that was read and no other; what else is in it stays.
pub(super) fn patch(secret: &Secret, contents: &Contents) -> Value {
    let mut data = Map::new();
    if let Ok(current) = &contents.current {
        for (name, text) in current.parts() {
            data.insert(name.to_owned(), json!(ByteString(text.into_bytes())));
        }
    }
    let next = contents.next.as_ref().and_then(|next| next.as_ref().ok());
    let next = next.map(Identity::parts).unwrap_or_default();
    for (of, name) in NEXT {
        let text = next.iter().find(|(part, _)| *part == of);
        let value = text.map(|(_, text)| ByteString(text.clone().into_bytes()));
        data.insert(name.to_owned(), json!(value));
    }
    json!({
        "metadata": {
            "resourceVersion": secret.resource_version(),
            "labels": {"app.kubernetes.io/name": "mxjob", OWNER: OURS},
            "annotations": {RENEW: null},
        },
        "data": data,
    })
}
