//! The variables that a container sets for itself, worked out without a cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVarSource, Pod};

use super::expand::expand;

/// The container's variables, each name once, later ones made of earlier ones; or the name of the
/// one that cannot be had here and why.
pub(super) fn of_container(
    pod: &Pod,
    container: &Container,
) -> Result<Vec<(String, String)>, (String, String)> {
    let mut values: Vec<(String, String)> = Vec::new();
    for variable in container.env.iter().flatten() {
        let known = |name: &str| {
            values
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, value)| value.clone())
        };
        let value = match &variable.value_from {
            Some(source) => from_source(pod, source).map_err(|why| (variable.name.clone(), why))?,
            None => Some(expand(variable.value.as_deref().unwrap_or_default(), known)),
        };
        if let Some(value) = value {
            values.retain(|(name, _)| *name != variable.name);
            values.push((variable.name.clone(), value));
        }
    }
    Ok(values)
}

/// The value; `None` when the source is optional and not here.
fn from_source(pod: &Pod, source: &EnvVarSource) -> Result<Option<String>, String> {
    let absent = |what: &str, name: &str, optional: Option<bool>| match optional {
        Some(true) => Ok(None),
        _ => Err(format!(
            "{what} {name:?} is only in a cluster: for `mxjob run` give a `value`"
        )),
    };
    if let Some(field) = &source.field_ref {
        return of_field(pod, &field.field_path).map(Some);
    }
    if let Some(key) = &source.secret_key_ref {
        return absent("secret", &key.name, key.optional);
    }
    if let Some(key) = &source.config_map_key_ref {
        return absent("config map", &key.name, key.optional);
    }
    let resource = source
        .resource_field_ref
        .as_ref()
        .map_or("valueFrom", |field| field.resource.as_str());
    Err(format!(
        "{resource} is not known on this machine: for `mxjob run` give a `value`"
    ))
}

/// A field of the downward API.
fn of_field(pod: &Pod, path: &str) -> Result<String, String> {
    let meta = &pod.metadata;
    let entry = |map: &Option<BTreeMap<String, String>>, key: &str| {
        map.as_ref()
            .and_then(|map| map.get(key))
            .cloned()
            .unwrap_or_default()
    };
    if let Some((map, key)) = path
        .strip_suffix("']")
        .and_then(|path| path.split_once("['"))
    {
        match map {
            "metadata.labels" => return Ok(entry(&meta.labels, key)),
            "metadata.annotations" => return Ok(entry(&meta.annotations, key)),
            _ => {}
        }
    }
    let spec = pod.spec.as_ref();
    Ok(match path {
        "metadata.name" => meta.name.clone().unwrap_or_default(),
        "metadata.namespace" => meta
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned()),
        "metadata.uid" => meta.uid.clone().unwrap_or_default(),
        "spec.nodeName" => rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        "spec.serviceAccountName" => spec
            .and_then(|spec| spec.service_account_name.clone())
            .unwrap_or_else(|| "default".to_owned()),
        "status.podIP" | "status.podIPs" | "status.hostIP" | "status.hostIPs" => {
            "127.0.0.1".to_owned()
        }
        _ => {
            return Err(format!(
                "field {path:?} is not known on this machine: for `mxjob run` give a `value`"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables(env: &serde_json::Value) -> Result<Vec<(String, String)>, (String, String)> {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "digits-worker-0", "labels": {"app": "digits"}},
            "spec": {"containers": [{"name": "mxnet", "env": env}]},
        }))
        .unwrap();
        of_container(&pod, &pod.spec.as_ref().unwrap().containers[0])
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn later_variables_are_made_of_earlier_ones() {
        let env = json!([
            {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}, {"name": "C", "value": "3"},
            {"name": "A", "value": "2"}, {"name": "EMPTY"},
        ]);
        assert_eq!(
            variables(&env).unwrap(),
            [
                pair("B", "1$(C)"),
                pair("C", "3"),
                pair("A", "2"),
                pair("EMPTY", "")
            ]
        );
    }

    #[test]
    fn the_downward_api_knows_this_machine() {
        let env: Vec<_> = [
            "metadata.name",
            "metadata.namespace",
            "metadata.labels['app']",
            "status.podIP",
        ]
        .iter()
        .map(|path| json!({"name": path, "valueFrom": {"fieldRef": {"fieldPath": path}}}))
        .collect();
        let values: Vec<_> = variables(&env.into())
            .unwrap()
            .into_iter()
            .map(|(_, value)| value)
            .collect();
        assert_eq!(
            values,
            ["digits-worker-0", "default", "digits", "127.0.0.1"]
        );
    }

    #[test]
    fn what_only_a_cluster_has_is_named() {
        let secret = |optional: bool| json!([{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "t", "optional": optional}}}]);
        assert_eq!(variables(&secret(true)).unwrap(), []);
        let why = "secret \"keys\" is only in a cluster: for `mxjob run` give a `value`";
        assert_eq!(variables(&secret(false)).unwrap_err(), pair("TOKEN", why));
    }
}
