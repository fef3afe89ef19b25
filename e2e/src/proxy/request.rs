//! What was asked for, in the words of RBAC.

use std::time::Instant;

use http::Method;
use http::request::Parts;
use serde_json::Value;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: &'static str,
    /// `pods`, or with a subresource `mxjobs/status`.
    pub resource: String,
    /// The object's name; empty when it is about many.
    pub name: String,
    /// When it came.
    pub at: Instant,
}

impl Asked {
    pub(super) fn of(parts: &Parts, body: &[u8], at: Instant) -> Self {
        let words: Vec<&str> = parts.uri.path().split('/').skip(1).collect();
        let rest = match &words[..] {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            other => other,
        };
        let rest = match rest {
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            other => other,
        };
        let (resource, name, sub) = match rest {
            [resource, name, sub, ..] => (*resource, *name, Some(*sub)),
            [resource, name] => (*resource, *name, None),
            [resource] => (*resource, "", None),
            [] => ("", "", None),
        };
        let watches = parts
            .uri
            .query()
            .is_some_and(|query| query.split('&').any(|one| one == "watch=true"));
        let verb = match parts.method {
            Method::GET if !name.is_empty() => "get",
            Method::GET if watches => "watch",
            Method::GET => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "other",
        };
        let name = if verb == "create" {
            let object: Value = serde_json::from_slice(body).unwrap_or_default();
            let name = object.pointer("/metadata/name").and_then(Value::as_str);
            name.unwrap_or_default().to_owned()
        } else {
            name.to_owned()
        };
        Self {
            verb,
            resource: sub.map_or_else(|| resource.to_owned(), |sub| format!("{resource}/{sub}")),
            name,
            at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str, body: &str) -> (&'static str, String, String) {
        let request = http::Request::builder().method(method).uri(uri);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let asked = Asked::of(&parts, body.as_bytes(), Instant::now());
        (asked.verb, asked.resource, asked.name)
    }

    #[test]
    fn requests_are_told_apart() {
        for (method, uri, expected) in [
            (
                "GET",
                "/api/v1/pods?watch=true&limit=1",
                ("watch", "pods", ""),
            ),
            (
                "GET",
                "/api/v1/namespaces/a/pods?limit=1",
                ("list", "pods", ""),
            ),
            ("GET", "/api/v1/namespaces/a/pods/b", ("get", "pods", "b")),
            ("GET", "/api/v1/namespaces/a", ("get", "namespaces", "a")),
            (
                "DELETE",
                "/api/v1/namespaces/a/pods/b",
                ("delete", "pods", "b"),
            ),
            ("POST", "/api/v1/namespaces/a/pods", ("create", "pods", "b")),
            (
                "PATCH",
                "/apis/kubeflow.org/v1/namespaces/a/mxjobs/b/status",
                ("patch", "mxjobs/status", "b"),
            ),
        ] {
            let (verb, resource, name) = asked(method, uri, r#"{"metadata": {"name": "b"}}"#);
            assert_eq!((verb, &*resource, &*name), expected, "{method} {uri}");
        }
    }
}
