//! The job's layout as JSON, for the variable that the role set names (`MX_CONFIG`).
//!
//! A pod's body must not grow with its job for ever: a layout that is too long for a variable is
//! shortened there, and the whole of it is in a ConfigMap that every pod mounts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, ConfigMapVolumeSource, PodSpec, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::{Addresses, Wiring, names};
use crate::api::v1::Services;
use crate::job::{Job, Replica, RoleSpec, Spec};

#[derive(Serialize)]
struct Endpoint {
    url: String,
    port: u16,
}

#[derive(Serialize)]
struct Task<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    index: u32,
}

/// Longest value of the variable, in bytes. Linux takes one of 131,071 (`MAX_ARG_STRLEN`); a cluster
/// has to store one in each pod.
const LONGEST: usize = 32 * 1024;

/// Name of the volume with the whole layout.
const VOLUME: &str = "mxjob-cluster";
/// The folder where it is mounted.
const FOLDER: &str = "/etc/mxjob";
/// Its file there, and its key in the ConfigMap.
const FILE: &str = "cluster.json";
/// Both.
pub(crate) const PATH: &str = "/etc/mxjob/cluster.json";

/// What the layouts of all replicas share, as rendered JSON.
#[derive(Debug)]
pub(super) struct Layout {
    shared: String,
    /// The whole `cluster` of a long one.
    whole: Option<String>,
    /// The shared one names one replica of each role.
    is_cut: bool,
}

impl Layout {
    pub(super) fn of(wiring: &Wiring<'_>) -> Self {
        let roles = &wiring.spec.roles;
        let endpoint = |role: &RoleSpec, replica: Replica| Endpoint {
            url: wiring.host(replica),
            port: wiring.port(role, replica),
        };
        let cluster = |most: usize| -> BTreeMap<_, Vec<_>> {
            let some = |role: &RoleSpec| {
                let replicas = role.replicas().take(most);
                replicas.map(|replica| endpoint(role, replica)).collect()
            };
            roles.iter().map(|role| (lower(role), some(role))).collect()
        };
        let labels: BTreeMap<_, _> = roles
            .iter()
            .map(|role| {
                (
                    lower(role),
                    if role.role.label {
                        role.label.as_str()
                    } else {
                        ""
                    },
                )
            })
            .collect();
        let labels = json(&labels);
        let shared = |cluster: &str| format!(r#"{{"cluster":{cluster},"labels":{labels}"#);
        let whole = json(&cluster(usize::MAX));
        if !is_long(wiring.job, wiring.spec) {
            return Self {
                shared: shared(&whole),
                whole: None,
                is_cut: false,
            };
        }
        // On this machine there is nothing to mount it with.
        let is_cut = matches!(wiring.addresses, Addresses::Cluster);
        let shared = if is_cut {
            shared(&json(&cluster(1)))
        } else {
            shared(&whole)
        };
        Self {
            shared,
            whole: Some(whole),
            is_cut,
        }
    }

    /// The ConfigMap with the whole layout, when it is too long for the variable.
    pub(super) fn config_map(&self, metadata: ObjectMeta) -> Option<ConfigMap> {
        let data = [(FILE.to_owned(), self.whole.clone()?)].into();
        Some(ConfigMap {
            metadata,
            data: Some(data),
            ..ConfigMap::default()
        })
    }

    /// Mounts that ConfigMap into all containers of a pod of the job.
    pub(super) fn mount(&self, job: &Job, pod: &mut PodSpec) {
        if !self.is_cut {
            return;
        }
        // The operator's own wins over one of that name, as its variables do.
        let volumes = pod.volumes.get_or_insert_default();
        volumes.retain(|volume| volume.name != VOLUME);
        volumes.push(Volume {
            name: VOLUME.to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: names::config_map(job),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        });
        for container in &mut pod.containers {
            let mounts = container.volume_mounts.get_or_insert_default();
            mounts.retain(|mount| mount.name != VOLUME && mount.mount_path != FOLDER);
            mounts.push(VolumeMount {
                name: VOLUME.to_owned(),
                mount_path: FOLDER.to_owned(),
                read_only: Some(true),
                ..VolumeMount::default()
            });
        }
    }

    pub(super) fn render(&self, role: &RoleSpec, replica: Replica) -> String {
        let task = Task {
            kind: &lower(role),
            index: replica.index,
        };
        format!(r#"{},"task":{}}}"#, self.shared, json(&task))
    }
}

/// True when the layout of a job on a cluster would be longer than the variable may be. It is worked
/// out without writing it down: the planner asks at every look.
pub(crate) fn is_long(job: &Job, spec: &Spec) -> bool {
    job.table.config_env.is_some() && longest(job, spec) > LONGEST
}

/// Length of the layout of the last replica of the role with the longest name.
fn longest(job: &Job, spec: &Spec) -> usize {
    let name = job.meta.name.len();
    let run = job.meta.run.as_ref().map_or(0, |run| 1 + run.len());
    let domain = match spec.services {
        Services::PerReplica => 0,
        Services::PerJob => 1 + name,
    };
    let list = |role: &RoleSpec| {
        let count = usize::try_from(role.replicas).unwrap_or(usize::MAX);
        let fixed = r#"{"url":"--","port":},"#.len() + name + role.role.name.len() + run + domain;
        let port = role.port.to_string().len();
        let entries = count.saturating_mul(fixed + port) + digits_below(role.replicas);
        r#""":[],"#.len() + role.role.name.len() + entries - usize::from(count > 0)
    };
    let label = |role: &RoleSpec| {
        let label = if role.role.label {
            role.label.as_str()
        } else {
            ""
        };
        r#""":,"#.len() + role.role.name.len() + json(&label).len()
    };
    let own = |role: &RoleSpec| {
        let highest = role.replicas.saturating_sub(1).to_string();
        role.role.name.len() + highest.len()
    };
    let roles = || spec.roles.iter();
    r#"{"cluster":{},"labels":{},"task":{"type":"","index":}}"#.len()
        + roles().map(|role| list(role) + label(role)).sum::<usize>()
        // The last of a list has no comma.
        - 2 * usize::from(!spec.roles.is_empty())
        + roles()
            .filter(|role| role.replicas > 0)
            .map(own)
            .max()
            .unwrap_or(0)
}

/// Number of digits of all numbers below `end`, written one after the other.
fn digits_below(end: u32) -> usize {
    let mut digits = 0;
    let mut start = 0_u64;
    for (length, next) in (1..).zip(std::iter::successors(Some(10_u64), |next| Some(next * 10))) {
        let end = u64::from(end).min(next);
        if start >= end {
            break;
        }
        digits += usize::try_from(end - start).unwrap_or(usize::MAX) * length;
        start = next;
    }
    digits
}

fn lower(role: &RoleSpec) -> String {
    role.role.name.to_ascii_lowercase()
}

/// Maps with text keys, texts and numbers always render.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversion::CONVERSION_ANNOTATION;
    use crate::{MxRole, ReplicaRole};

    #[test]
    fn the_length_is_that_of_the_longest_variable() {
        let older = json!({CONVERSION_ANNOTATION: r#"{"origin":"v1alpha1"}"#});
        for (servers, workers, name, network, annotations) in [
            (0, 1, "a", "PerReplica", json!({})),
            (1, 9, "job", "PerReplica", json!({})),
            (11, 100, "job", "PerJob", json!({})),
            (2, 101, "a-long-name", "PerReplica", json!({})),
            (3, 1234, "job", "PerJob", json!({})),
            (2, 12, "job", "PerReplica", older),
        ] {
            let role = |replicas: u32| json!({"replicas": replicas, "template": {"spec": {"containers": [{"name": "mxnet", "image": "i"}]}}});
            let job = Job::read(
                MxRole::TABLE,
                &json!({
                    "metadata": {"name": name, "uid": "u-1", "annotations": annotations},
                    "spec": {
                        "network": {"services": network},
                        "mxReplicaSpecs": {"Scheduler": role(1), "Server": role(servers), "Worker": role(workers)},
                    },
                }),
            );
            let spec = job.spec.as_ref().unwrap();
            let wiring = Wiring::new(&job, spec, Addresses::Cluster);
            let layout = Layout::of(&wiring);
            let of = |replica: Replica| {
                layout
                    .render(spec.role(replica.role).unwrap(), replica)
                    .len()
            };
            let longest = spec.replicas().map(of).max().unwrap();
            if layout.is_cut {
                assert!(longest < 1024, "{longest}");
                assert!(super::longest(&job, spec) > LONGEST);
            } else {
                assert_eq!(super::longest(&job, spec), longest, "{name}");
            }
        }
    }

    #[test]
    fn digits_are_counted() {
        for end in [0, 1, 9, 10, 11, 99, 100, 1000, 12345] {
            let digits: usize = (0..end).map(|number: u32| number.to_string().len()).sum();
            assert_eq!(digits_below(end), digits, "{end}");
        }
    }
}
