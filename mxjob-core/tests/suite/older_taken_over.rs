//! Jobs as the first operators of the older groups left them in a cluster.

use crate::lists::{Group, entry, objects};
use crate::older_worlds::{GROUPS, manifest};
use k8s_openapi::api::core::v1::Pod;
use mxjob_core::accelerators::Accelerators;
use mxjob_core::api::Version;
use mxjob_core::api::v1::JobStatus;
use mxjob_core::conversion::{Stored, convert};
use mxjob_core::plan::{Account, Action, Facts, Observed, Plan, PodView, ServiceView, plan};
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, RoleTable};
use serde_json::{Value, json};

/// A job that is stored, in the words that it is stored in.
struct Left {
    table: &'static RoleTable,
    stored: Value,
    job: Job,
    form: Stored,
}

impl Left {
    /// As its first operator left it, with that phase and state.
    fn of(group: &'static str, entries: &[Value], phase: &str, state: &str) -> Self {
        let mut object = manifest(group, entries);
        object["metadata"]["generation"] = json!(4);
        let replicas = json!([{"mx_replica_type": "SCHEDULER", "state": "Unknown", "ReplicasStates": {"Unknown": 1}}]);
        object["status"] =
            json!({"phase": phase, "state": state, "reason": "why", "replicaStatuses": replicas});
        let table = Group(group).table();
        let stored = match table.crd.alone {
            None => convert(table, object, Version::V1).unwrap(),
            Some(_) => object,
        };
        Self::read(table, stored)
    }

    fn read(table: &'static RoleTable, stored: Value) -> Self {
        let (job, form) = Stored::read(table, &stored);
        Self {
            table,
            stored,
            job,
            form,
        }
    }

    /// With that status written.
    fn written(&self, status: &JobStatus) -> Self {
        let mut stored = self.stored.clone();
        stored["status"] = self.form.status(status);
        let written = Self::read(self.table, stored);
        assert_eq!(written.job.status, *status, "it reads as it was written");
        written
    }

    /// Phase, state and reason as its group shows them.
    fn shown(&self) -> [String; 3] {
        let shown = convert(self.table, self.stored.clone(), Version::V1Alpha1).unwrap();
        ["phase", "state", "reason"]
            .map(|key| shown["status"][key].as_str().unwrap_or("-").to_owned())
    }

    fn plan(&self, pods: &[PodView], services: &[ServiceView]) -> Plan {
        let observed = Observed {
            job: &self.job,
            pods,
            services,
            config_maps: &[],
        };
        plan(&observed, "2026-01-31T12:00:00Z".parse().unwrap())
    }

    /// Its pods, with that phase and exit code, and its services.
    fn children(&self, phase: &str, code: i32) -> (Vec<PodView>, Vec<ServiceView>) {
        let (pods, services) = objects(&self.job);
        let pod = |mut pod: Value| {
            pod["metadata"]["uid"] = pod["metadata"]["name"].clone();
            let ended = json!({"exitCode": code});
            let running = json!({"startedAt": "2026-01-31T11:00:00Z"});
            let state = match phase {
                "Running" => json!({"running": running}),
                _ => json!({"terminated": ended}),
            };
            pod["status"] = json!({
                "phase": phase,
                "containerStatuses": [
                    {"name": "mxnet", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state},
                ],
            });
            let pod: Pod = serde_json::from_value(pod).unwrap();
            PodView::of(&pod, self.table)
        };
        let service =
            |service| ServiceView::of(&serde_json::from_value(service).unwrap(), self.table);
        (
            pods.into_iter().map(pod).collect(),
            services.into_iter().map(service).collect(),
        )
    }
}

fn three() -> [Value; 3] {
    [
        entry("SCHEDULER", 1),
        entry("SERVER", 1),
        entry("WORKER", 2),
    ]
}

const ENDS: [([&str; 2], [&str; 2]); 9] = [
    (["CleanUp", "Succeeded"], ["Done", "Succeeded"]),
    (["CleanUp", "Failed"], ["Done", "Failed"]),
    (["Failed", "Succeeded"], ["Done", "Succeeded"]),
    (["Creating", "Succeeded"], ["Done", "Succeeded"]),
    (["Running", "Failed"], ["Done", "Failed"]),
    (["Done", "Succeeded"], ["Done", "Succeeded"]),
    (["Done", "Failed"], ["Done", "Failed"]),
    (["Failed", "Failed"], ["Failed", "Failed"]),
    (["Failed", ""], ["Failed", "Failed"]),
];

// contract: 12.33
// defect: D5, D9, D10
#[test]
fn an_end_is_final_whatever_the_phase_and_is_written_once_in_our_words() {
    for group in GROUPS {
        for ([phase, state], wanted) in ENDS {
            let left = Left::of(group, &three(), phase, state);
            let Plan {
                status,
                actions,
                events,
                wake_at,
            } = left.plan(&[], &[]);
            let case = format!("{group} {phase} {state}");
            assert!(actions.is_empty() && events.is_empty(), "{case}");
            assert_eq!(wake_at, None, "{case}");
            let written = left.written(&status.unwrap());
            let [phase, state, reason] = written.shown();
            assert_eq!([phase.as_str(), &state], wanted, "{case}");
            // It says of a success why that is so, and nobody asks.
            assert_eq!(reason == "why", state == "Failed", "{case}: {reason}");
            assert_eq!(written.plan(&[], &[]), Plan::default(), "{case}");
            let status = &written.job.status;
            assert_eq!(status.observed_generation, Some(4), "{case}");
            assert!(
                status.conditions.iter().all(|one| one.reason.is_some()),
                "{case}"
            );
            // When it ended nobody knows.
            assert_eq!(status.completion_time, None, "{case}");

            // It ended under another operator, which counted it.
            let mut account = None;
            Account::book(&mut account, Some(&left.job));
            assert_eq!(
                Account::book(&mut account, Some(&written.job)),
                Facts::default(),
                "{case}"
            );
        }
    }
}

// contract: 12.33
// defect: D5
#[test]
fn what_the_older_operator_did_not_get_to_clean_up_goes() {
    for (group, pods_go) in [("kubeflow.org", true), ("fioravanzo.org", false)] {
        let left = Left::of(group, &three(), "CleanUp", "Succeeded");
        let (pods, services) = left.children("Succeeded", 0);
        assert_eq!((pods.len(), services.len()), (4, 4));
        let actions = left.plan(&pods, &services).actions;
        let deleted = |test: fn(&Action) -> bool| actions.iter().filter(|one| test(one)).count();
        let of_pods = deleted(|one| matches!(one, Action::DeletePod(_)));
        assert_eq!(of_pods, if pods_go { 4 } else { 0 }, "{group}");
        assert_eq!(deleted(|one| matches!(one, Action::DeleteService(_))), 4);
        assert_eq!(actions.len(), of_pods + 4, "{group}: {actions:?}");
    }
}

/// The status of one of them never left it.
// contract: 12.33
// defect: D4
#[test]
fn phase_creating_of_finished_work_is_an_end_by_the_pods() {
    for group in GROUPS {
        for (phase, code, state) in [("Succeeded", 0, "Succeeded"), ("Failed", 1, "Failed")] {
            let left = Left::of(group, &three(), "Creating", "Running");
            let (pods, services) = left.children(phase, code);
            let status = left.plan(&pods, &services).status.unwrap();
            let written = left.written(&status);
            let [phase, found, _] = written.shown();
            assert_eq!([phase.as_str(), &found], ["Done", state], "{group}");
        }
    }
}

// contract: 12.33
#[test]
fn one_that_had_not_ended_goes_on_with_the_pods_that_it_has() {
    for group in GROUPS {
        for phase in ["Creating", "Running"] {
            let left = Left::of(group, &three(), phase, "Running");
            let (pods, services) = left.children("Running", 0);
            let planned = left.plan(&pods, &services);
            assert_eq!(planned.actions, [], "{group}");
            let written = left.written(&planned.status.unwrap());
            assert_eq!(written.shown()[..2], ["Running", "Running"], "{group}");
            assert!(written.plan(&pods, &services).status.is_none(), "{group}");
        }
    }
}

// defect: D15
#[test]
fn a_failed_pod_without_a_start_time_is_judged_by_its_code() {
    for group in GROUPS {
        // The chief goes on, so the job does.
        for (code, phase) in [(1, "Failed"), (143, "Running")] {
            let left = Left::of(group, &three(), "Running", "Running");
            let (mut pods, services) = left.children("Running", 0);
            let (ended, _) = left.children("Failed", code);
            assert!(ended[3].started_at.is_none() && ended[3].exit.is_some());
            pods[3] = ended[3].clone();
            let planned = left.plan(&pods, &services);
            let status = planned.status.unwrap();
            assert_eq!(status.phase.as_deref(), Some(phase), "{group} {code}");
            let goes =
                |one: &Action| matches!(one, Action::DeletePod(pod) if pod.name == pods[3].name);
            let stays = (group, code) == ("fioravanzo.org", 1);
            assert_eq!(planned.actions.iter().any(goes), !stays, "{group} {code}");
        }
    }
}

/// The variables that were put in front of the user's, with what they were then.
fn injected(role: &str) -> Vec<Value> {
    let variable = |name: &str, value: &str| json!({"name": name, "value": value});
    vec![
        variable("DMLC_PS_ROOT_PORT", "1"),
        variable("DMLC_PS_ROOT_URI", "old-scheduler-zzzz-0"),
        variable("DMLC_NUM_SERVER", "7"),
        variable("DMLC_NUM_WORKER", "7"),
        variable("DMLC_ROLE", role),
        variable("DMLC_USE_KUBERNETES", "1"),
    ]
}

// contract: 12.34
// defect: D1, D20
#[test]
fn variables_that_were_written_into_a_template_are_replaced_by_name() {
    for group in GROUPS {
        let mut entries = three();
        for one in &mut entries {
            let mut env = injected("nobody");
            env.push(json!({"name": "OWN", "value": "mine"}));
            one["template"]["spec"]["containers"][0]["env"] = json!(env);
        }
        let left = Left::of(group, &entries, "Creating", "Running");
        let plain = Left::of(group, &three(), "Creating", "Running");
        let (with, without) = (objects(&left.job).0, objects(&plain.job).0);
        assert_eq!(with.len(), 4);
        for (with, without) in with.iter().zip(&without) {
            let sorted = |pod: &Value| {
                let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
                let mut env: Vec<_> = env.iter().map(ToString::to_string).collect();
                env.sort();
                env
            };
            let mut wanted = sorted(without);
            wanted.push(json!({"name": "OWN", "value": "mine"}).to_string());
            wanted.sort();
            assert_eq!(sorted(with), wanted, "{group}");
        }
        let before = left.stored["spec"].to_string();
        assert!(
            before.contains("old-scheduler-zzzz-0"),
            "{group}: the template stays"
        );
    }
}

/// With each of them as often as said.
fn with_volumes(times: usize) -> [Value; 3] {
    let mut entries = three();
    let pod = &mut entries[2]["template"]["spec"];
    let volume = json!({"name": "nvidia", "hostPath": {"path": "/usr/local/nvidia"}});
    let mount = json!({"name": "nvidia", "mountPath": "/usr/local/nvidia"});
    pod["volumes"] = json!(vec![volume; times]);
    pod["containers"][0]["volumeMounts"] = json!(vec![mount; times]);
    pod["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": "1"}});
    entries
}

// contract: 12.34
// defect: D20
#[test]
fn volumes_that_were_written_into_a_template_are_there_once() {
    let folder = json!({"name": "nvidia", "hostPath": "/usr/local/nvidia", "mountPath": "/usr/local/nvidia"});
    let file = json!({"accelerators": {"nvidia.com/gpu": {"volumes": [folder]}}});
    let accelerators = Accelerators::read(&file).unwrap();
    let pods = |left: &Left, accelerators: Option<&Accelerators>| -> Vec<Value> {
        let wiring = Wiring::new(
            &left.job,
            left.job.spec.as_ref().unwrap(),
            Addresses::Cluster,
        );
        let wiring = match accelerators {
            Some(accelerators) => wiring.with_accelerators(accelerators),
            None => wiring,
        };
        let specs = wiring.pods().map(|pod| pod.spec.unwrap());
        specs
            .map(|spec| serde_json::to_value(spec).unwrap())
            .collect()
    };
    for group in GROUPS {
        let fresh = Left::of(group, &with_volumes(0), "", "");
        let wanted = pods(&fresh, Some(&accelerators));
        assert_eq!(wanted[3]["volumes"].as_array().unwrap().len(), 1);
        for times in 1..=3 {
            let left = Left::of(group, &with_volumes(times), "Creating", "Running");
            for accelerators in [None, Some(&accelerators)] {
                assert_eq!(pods(&left, accelerators), wanted, "{group} {times}");
            }
        }
    }
}

/// Which of the two is meant only the user knows: the API server says that there are two.
#[test]
fn volumes_of_one_name_that_differ_are_left_to_the_user() {
    for group in GROUPS {
        let mut entries = with_volumes(2);
        entries[2]["template"]["spec"]["volumes"][1] = json!({"name": "nvidia", "emptyDir": {}});
        let left = Left::of(group, &entries, "Creating", "Running");
        let pod = &objects(&left.job).0[3];
        assert_eq!(
            pod["spec"]["volumes"],
            entries[2]["template"]["spec"]["volumes"]
        );
    }
}
