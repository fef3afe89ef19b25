//! What a user should know of a job that runs all the same. Each is said once.

use super::draft::Draft;
use super::{Event, PodView};
use crate::accelerators::{ALPHA_GPU, NVIDIA_GPU, asks_for_alpha};
use crate::job::{Replica, RoleSpec, Spec};
use crate::role::Children;

/// A template's own restart policy has no effect. Said when the job is taken up.
pub(super) fn template_restart_policy(draft: &mut Draft<'_>, spec: &Spec) {
    let overwritten = spec.roles.iter().any(|role| {
        let template = role.template.spec.as_ref();
        let own = template.and_then(|template| template.restart_policy.as_deref());
        own.is_some_and(|own| own != spec.restart_policy_of_pods(role).name())
    });
    if overwritten {
        draft.event(Event::warning(
            "SetPodTemplateRestartPolicy",
            "Restart policy in pod template will be overwritten by restart policy in replica spec",
        ));
    }
}

/// Accelerators are asked for by a name that nothing knows any more. Said when the job is taken up.
pub(super) fn alpha_gpu(draft: &mut Draft<'_>, spec: &Spec) {
    let asks = |role: &&RoleSpec| role.template.spec.as_ref().is_some_and(asks_for_alpha);
    let roles: Vec<_> = spec
        .roles
        .iter()
        .filter(asks)
        .map(|role| role.role.name)
        .collect();
    if !roles.is_empty() {
        let message = format!(
            "Resource {ALPHA_GPU} of {} is gone from Kubernetes: replaced by {NVIDIA_GPU}",
            roles.join(", ")
        );
        draft.event(Event::warning("ReplacedAlphaGPUResource", message));
    }
}

/// A member of a job that takes none back was restarted. Said when its first restart is seen.
pub(super) fn restarted_in_place(
    draft: &mut Draft<'_>,
    spec: &Spec,
    replica: Replica,
    pod: &PodView,
) {
    let has_peers = spec.wanted() > 1;
    let is_member = spec
        .role(replica.role)
        .is_some_and(|role| role.role.mode_env);
    if spec.mode.fixed_membership && has_peers && is_member {
        let (kind, what) = match draft.job.table.children() {
            Children::Jobs => ("Job", "made its pod anew"),
            _ => ("Pod", "was restarted in place"),
        };
        // No version but v1 has that field.
        let advice = match draft.job.table.crd.alone {
            None => "Set failurePolicy to have the whole job restarted",
            Some(_) => "Delete the job and create it again",
        };
        let message = format!(
            "{kind} {} {what}, and a job of mode {} goes on without it: ps-lite does not take a \
             member back, the others wait for ever. {advice}",
            pod.name, spec.mode.name
        );
        draft.event(Event::warning("RestartedInPlace", message));
    }
}
