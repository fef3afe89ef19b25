//! The pod of a replica.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Wiring, env, labels};
use crate::accelerators;
use crate::api::v1::Services;
use crate::job::{Attempt, Replica, RoleSpec};
use crate::role::{EditPod, Peers, Role, RoleId, RoleTable};

pub(super) fn pod(wiring: &Wiring<'_>, role: &RoleSpec, replica: Replica, attempt: Attempt) -> Pod {
    let mut spec = role.template.spec.clone().unwrap_or_default();
    edit(wiring, role.role, replica.index, &mut spec);
    let ours = env::of_replica(wiring, role, replica);
    let accelerators = wiring.accelerators;
    let give = |spec: &mut PodSpec| {
        if let Some(accelerators) = accelerators {
            accelerators.apply(role.container(wiring.job.table), spec);
        }
    };
    // The configuration may still know the accelerator by its old name.
    give(&mut spec);
    accelerators::replace_alpha(&mut spec);
    give(&mut spec);
    if let Some(layout) = &wiring.layout {
        layout.mount(wiring.job, &mut spec);
    }
    for container in &mut spec.containers {
        container.env =
            Some(env::merge(container.env.take(), &ours)).filter(|vars| !vars.is_empty());
    }
    spec.restart_policy = Some(wiring.spec.restart_policy_of_pods(role).name().to_owned());
    if wiring.spec.services == Services::PerJob {
        spec.hostname = Some(wiring.name(replica));
        spec.subdomain = Some(wiring.job.meta.name.clone());
    }
    Pod {
        metadata: metadata(wiring, role, replica, attempt),
        spec: Some(spec),
        status: None,
    }
}

/// What hand-written code does to a role's pods: that of a base set before that of its extension.
fn edit(wiring: &Wiring<'_>, role: &Role, index: u32, spec: &mut PodSpec) {
    let Some(EditPod {
        table,
        edit: by_hand,
    }) = role.edit_pod
    else {
        return;
    };
    if let Some(id) = table.find(role.name) {
        edit(wiring, table.role(id), index, spec);
        by_hand(
            id,
            spec,
            &PeersOf {
                wiring,
                index,
                table,
            },
        );
    }
}

/// What hand-written code may ask about a replica. It knows roles by the ids of its own table.
struct PeersOf<'a> {
    wiring: &'a Wiring<'a>,
    index: u32,
    table: &'static RoleTable,
}

impl PeersOf<'_> {
    fn role(&self, id: RoleId) -> Option<&RoleSpec> {
        let role = self.table.roles.get(id.position())?;
        self.wiring.spec.role_named(role.name)
    }
}

impl Peers for PeersOf<'_> {
    fn job(&self) -> &str {
        &self.wiring.job.meta.name
    }

    fn index(&self) -> u32 {
        self.index
    }

    fn count(&self, role: RoleId) -> u32 {
        self.role(role).map_or(0, |role| role.replicas)
    }

    fn address(&self, role: RoleId, index: u32) -> Option<(String, u16)> {
        let of = self.role(role)?;
        let replica = Replica { role: of.id, index };
        (index < of.replicas).then(|| (self.wiring.host(replica), self.wiring.port(of, replica)))
    }
}

/// The template's labels, annotations and finalizers, under the operator's own.
fn metadata(
    wiring: &Wiring<'_>,
    role: &RoleSpec,
    replica: Replica,
    attempt: Attempt,
) -> ObjectMeta {
    let template = role.template.metadata.clone().unwrap_or_default();
    let mut all_labels = template.labels.unwrap_or_default();
    all_labels.extend(labels::of_profile(wiring.job, wiring.spec, replica));
    all_labels.remove(labels::JOB_ROLE);
    all_labels.extend(labels::of_replica(wiring.job, replica));
    if wiring.spec.chiefs().any(|chief| chief == replica) {
        all_labels.insert(labels::JOB_ROLE.to_owned(), "master".to_owned());
    }
    let mut annotations = template.annotations.unwrap_or_default();
    annotations.remove(Attempt::ANNOTATION);
    if attempt != Attempt::default() {
        annotations.insert(Attempt::ANNOTATION.to_owned(), attempt.render());
    }
    ObjectMeta {
        name: Some(wiring.name(replica)),
        namespace: wiring.namespace(),
        labels: Some(all_labels),
        annotations: Some(annotations).filter(|all| !all.is_empty()),
        finalizers: template.finalizers,
        owner_references: Some(vec![wiring.owner()]),
        ..ObjectMeta::default()
    }
}
