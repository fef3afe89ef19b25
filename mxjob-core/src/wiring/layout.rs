//! The job's layout as JSON, for the variable that the role set names (`MX_CONFIG`).
//!
//! A pod's body must not grow with its job for ever: a layout that is too long for a variable is
//! shortened there, and the whole of it is in a ConfigMap that every pod mounts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, ConfigMapVolumeSource, PodSpec, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::{Wiring, names};
use crate::job::{Replica, RoleSpec};

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

/// What the layouts of all replicas share, as rendered JSON.
#[derive(Debug)]
pub(super) struct Layout {
    shared: String,
    /// The whole `cluster`, when the shared one is shortened.
    whole: Option<String>,
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
        let layout = Self {
            shared: shared(&whole),
            whole: None,
        };
        let last = |role: &RoleSpec| {
            let index = role.replicas.checked_sub(1)?;
            Some(Replica {
                role: role.id,
                index,
            })
        };
        let longest = |role: &RoleSpec| Some(layout.render(role, last(role)?).len());
        if roles
            .iter()
            .filter_map(longest)
            .all(|length| length <= LONGEST)
        {
            return layout;
        }
        Self {
            shared: shared(&json(&cluster(1))),
            whole: Some(whole),
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
    pub(super) fn mount(&self, job: &str, pod: &mut PodSpec) {
        if self.whole.is_none() {
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

fn lower(role: &RoleSpec) -> String {
    role.role.name.to_ascii_lowercase()
}

/// Maps with text keys, texts and numbers always render.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
