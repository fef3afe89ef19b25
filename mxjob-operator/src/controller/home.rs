//! Where the operator itself runs.

use std::fs;
use std::path::Path;

const DEFAULT: &str = "default";
/// Which manifests set them depends on the year they were written in.
const VARIABLES: [&str; 3] = ["POD_NAMESPACE", "MY_POD_NAMESPACE", "KUBEFLOW_NAMESPACE"];
/// Set in every container by the kubelet.
const APISERVER: &str = "KUBERNETES_SERVICE_HOST";
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Where the operator itself runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// Its own namespace: where its lease and its Secret are.
    pub(super) namespace: String,
    /// Where its pod is, as far as it is told.
    pub(super) pod: Option<String>,
    /// It is a pod of a cluster.
    pub(super) in_pod: bool,
}

impl Home {
    /// `flag` is the namespace that was given.
    pub(super) fn find(flag: Option<&str>) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        Self::of(flag, variable, Path::new(SERVICE_ACCOUNT))
    }

    fn of(
        flag: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
        service_account: &Path,
    ) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let file = || {
            let text = fs::read_to_string(service_account.join("namespace")).ok()?;
            Some(text.trim().to_owned()).filter(|name| !name.is_empty())
        };
        let given = flag.filter(|name| !name.is_empty()).map(str::to_owned);
        let pod = VARIABLES.into_iter().find_map(set).or_else(file);
        let namespace = given.or_else(|| pod.clone());
        Self {
            namespace: namespace.unwrap_or_else(|| DEFAULT.to_owned()),
            pod,
            in_pod: set(APISERVER).is_some() && service_account.join("token").exists(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    // contract: 11.16
    // promise: P93
    #[test]
    fn the_own_namespace_is_the_first_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("namespace"), "of-the-file\n").unwrap();
        let mut variables: BTreeMap<_, _> =
            VARIABLES.map(|name| (name, name.to_lowercase())).into();
        let found = |flag, variables: &BTreeMap<&str, String>, folder: &Path| {
            Home::of(flag, |name| variables.get(name).cloned(), folder).namespace
        };
        assert_eq!(found(Some("flag"), &variables, folder.path()), "flag");
        assert_eq!(found(Some(""), &variables, folder.path()), "pod_namespace");
        variables.insert("POD_NAMESPACE", String::new());
        assert_eq!(found(None, &variables, folder.path()), "my_pod_namespace");
        variables.remove("MY_POD_NAMESPACE");
        assert_eq!(found(None, &variables, folder.path()), "kubeflow_namespace");
        variables.clear();
        assert_eq!(found(None, &variables, folder.path()), "of-the-file");
        fs::write(folder.path().join("namespace"), "").unwrap();
        assert_eq!(found(None, &variables, folder.path()), DEFAULT);
        assert_eq!(
            found(None, &variables, &folder.path().join("none")),
            DEFAULT
        );
    }

    #[test]
    fn a_pod_has_a_service_account_and_is_told_of_the_apiserver() {
        let folder = tempfile::tempdir().unwrap();
        let in_pod = |host: &str| Home::of(None, |_| Some(host.to_owned()), folder.path()).in_pod;
        assert!(!in_pod("10.96.0.1"));
        fs::write(folder.path().join("token"), "secret").unwrap();
        assert!(in_pod("10.96.0.1"));
        assert!(!in_pod(""));
    }
}
