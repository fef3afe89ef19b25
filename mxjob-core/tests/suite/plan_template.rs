//! What a pod template says that the operator overrides.

use crate::support::{SETS, Set, World, set};
use mxjob_core::plan::EventKind;
use serde_json::json;

fn said_of(roles: Set, role: &str, own: &str, template: &str, more: &[&str]) -> World {
    let mut manifest = roles.job(1, 0, 2);
    let path = |field: &str| format!("spec.mxReplicaSpecs.{role}.{field}");
    set(&mut manifest, &path("restartPolicy"), json!(own));
    set(
        &mut manifest,
        &path("template.spec.restartPolicy"),
        json!(template),
    );
    for policy in more {
        set(&mut manifest, policy, json!({}));
    }
    let mut world = World::running(roles, manifest);
    world.edit("spec.runPolicy.suspend", json!(true));
    world.edit("spec.runPolicy.suspend", json!(false));
    world
}

// contract: 5.4.2
#[test]
fn another_restart_policy_in_a_template_is_warned_of_once() {
    const MESSAGE: &str =
        "Restart policy in pod template will be overwritten by restart policy in replica spec";
    for roles in SETS {
        for (own, template, more, warned) in [
            ("OnFailure", "Always", &[][..], true),
            ("OnFailure", "OnFailure", &[], false),
            ("ExitCode", "Never", &[], false),
            ("ExitCode", "OnFailure", &[], true),
            ("OnFailure", "OnFailure", &["spec.failurePolicy"], true),
        ] {
            let world = said_of(roles, roles.worker, own, template, more);
            let said = world.said("SetPodTemplateRestartPolicy");
            let wanted: &[&str] = if warned { &[MESSAGE] } else { &[] };
            assert_eq!(said, wanted, "{own} {template} {more:?}");
        }
    }
}

#[test]
fn two_such_templates_are_one_warning() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 2);
        for role in [roles.chief, roles.worker] {
            let path = format!("spec.mxReplicaSpecs.{role}.template.spec.restartPolicy");
            set(&mut manifest, &path, json!("Always"));
        }
        let world = World::running(roles, manifest);
        let warnings = world
            .events
            .iter()
            .filter(|event| event.kind == EventKind::Warning);
        assert_eq!(warnings.count(), 1);
    }
}

// contract: 5.4.3
// promise: P82
#[test]
fn accelerators_by_their_old_name_are_warned_of_once() {
    for roles in SETS {
        let mut manifest = roles.job(1, 0, 2);
        let container = &mut manifest["spec"]["mxReplicaSpecs"][roles.worker]["template"]["spec"]["containers"]
            [0];
        container["resources"] = json!({"limits": {"alpha.kubernetes.io/nvidia-gpu": "1"}});
        let mut world = World::running(roles, manifest);
        world.edit("spec.runPolicy.suspend", json!(true));
        world.edit("spec.runPolicy.suspend", json!(false));
        let message = format!(
            "Resource alpha.kubernetes.io/nvidia-gpu of {} is gone from Kubernetes: replaced by nvidia.com/gpu",
            roles.worker
        );
        assert_eq!(world.said("ReplacedAlphaGPUResource"), [message]);
    }
}
