//! Each key of `#[derive(ReplicaRole)]` and what it changes.

use k8s_openapi::api::core::v1::{Container, Pod};
use mxjob_core::api::v1::JobSpec;
use mxjob_core::check::{rules, warnings};
use mxjob_core::job::Spec;
use mxjob_core::wiring::{Addresses, Wiring};
use mxjob_core::{Job, Problem, ReplicaRole};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(
    crd(group = "farm.example.org", kind = "FarmJob", plural = "farmwork", singular = "farmjob", short_names = ["fj"]),
    container = "work",
    port(name = "barn", number = 7000),
    config_env = "LAYOUT",
    mode(Harvest, chief = [Farmer, Hand], workers = [Hand], fixed_membership, env(
        BARN = host(Farmer), BARN_PORT = port(Farmer), SEASON = default("autumn"), TOOL = "scythe",
    )),
    mode(Survey, chief = [Drone], env(WHO = role, NAMESPACE = field("metadata.namespace"))),
)]
enum Farm {
    /// Decides.
    #[role(mode = Harvest, replicas = 1, optional)]
    Farmer,
    /// Cuts.
    #[role(mode = Harvest, replicas = 1..=9, default = 3, optional, requires = [Farmer], restart = [OnFailure, Never],
        env(RANK = index, CROWS = count(Bird), HANDS = hosts(Hand)))]
    Hand,
    /// Looks on.
    #[role(mode = Harvest, replicas = 0..=1, default = 0, optional, mode_env = false, services = false, rename = "Crow",
        container = "caw", port(name = "nest", number = 8000), env(FARMER = host(Farmer)))]
    Bird,
    /// Flies.
    #[role(mode = Survey, replicas = 1, gpu, label)]
    Drone,
}

fn role(container: &str) -> Value {
    json!({"template": {"spec": {"containers": [{"name": container, "image": "farm"}]}}})
}

fn manifest(roles: &Value) -> Value {
    json!({
        "apiVersion": "farm.example.org/v1", "kind": "FarmJob",
        "metadata": {"name": "wheat", "namespace": "fields"},
        "spec": {"mxReplicaSpecs": roles},
    })
}

/// A farmer, hands and a crow.
fn harvest() -> Value {
    let mut crow = role("caw");
    crow["replicas"] = json!(1);
    manifest(&json!({"Farmer": role("work"), "Hand": role("work"), "Crow": crow}))
}

fn job(manifest: &Value) -> Job {
    Job::read(Farm::TABLE, manifest)
}

fn pods(manifest: &Value) -> Vec<Pod> {
    let job = job(manifest);
    Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster)
        .pods()
        .collect()
}

fn pod(manifest: &Value, name: &str) -> Pod {
    let found = pods(manifest)
        .into_iter()
        .find(|pod| pod.metadata.name.as_deref() == Some(name));
    found.unwrap()
}

fn container(pod: &Pod) -> Container {
    pod.spec.as_ref().unwrap().containers[0].clone()
}

fn variable(pod: &Pod, name: &str) -> Option<String> {
    let vars = container(pod).env.unwrap_or_default();
    let found = vars.into_iter().find(|var| var.name == name)?;
    found
        .value
        .or_else(|| Some(found.value_from?.field_ref?.field_path))
}

fn spec(fields: Value) -> JobSpec {
    serde_json::from_value(fields).unwrap()
}

fn texts(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// What is wrong with a job of these fields.
fn wrong(fields: Value) -> Vec<String> {
    texts(&rules(Farm::TABLE, "wheat", &spec(fields)))
}

/// What is wrong with a job of these roles.
fn errors(roles: &Value) -> Vec<String> {
    wrong(json!({"mxReplicaSpecs": roles}))
}

/// What is odd about it.
fn odd(roles: &Value) -> Vec<String> {
    texts(&warnings(
        Farm::TABLE,
        &spec(json!({"mxReplicaSpecs": roles})),
    ))
}

fn schema() -> Value {
    serde_json::to_value(mxjob_core::schema::crd(Farm::TABLE)).unwrap()
}

fn has(texts: &[String], part: &str) -> bool {
    texts.iter().any(|text| text.contains(part))
}

#[test]
fn crd_names_the_custom_resource() {
    let schema = schema();
    assert_eq!(schema["metadata"]["name"], "farmwork.farm.example.org");
    let names = json!({
        "kind": "FarmJob", "listKind": "FarmJobList", "plural": "farmwork", "singular": "farmjob",
        "shortNames": ["fj"], "categories": ["all"],
    });
    assert_eq!(schema["spec"]["names"], names);
    let owner = &pods(&harvest())[0]
        .metadata
        .owner_references
        .clone()
        .unwrap()[0];
    assert_eq!(
        (owner.api_version.as_str(), owner.kind.as_str()),
        ("farm.example.org/v1", "FarmJob")
    );
}

// contract: 4.2
#[test]
fn container_is_the_one_that_must_be_there_and_gets_the_port() {
    assert!(has(
        &errors(&json!({"Farmer": role("other"), "Hand": role("work")})),
        "container named work"
    ));
    let port = container(&pod(&harvest(), "wheat-farmer-0")).ports.unwrap()[0].clone();
    assert_eq!(
        (port.name.as_deref(), port.container_port),
        (Some("barn"), 7000)
    );
}

#[test]
fn container_and_port_of_a_role_are_its_own() {
    assert!(has(
        &errors(&json!({"Farmer": role("work"), "Crow": role("work")})),
        "container named caw"
    ));
    let port = container(&pod(&harvest(), "wheat-crow-0")).ports.unwrap()[0].clone();
    assert_eq!(
        (port.name.as_deref(), port.container_port),
        (Some("nest"), 8000)
    );
}

// contract: 2.4
#[test]
fn config_env_and_label_are_the_layout() {
    let mut drone = role("work");
    drone["label"] = json!("north");
    let layout = variable(
        &pod(&manifest(&json!({"Drone": drone})), "wheat-drone-0"),
        "LAYOUT",
    )
    .unwrap();
    let layout: Value = serde_json::from_str(&layout).unwrap();
    assert_eq!(layout["labels"]["drone"], "north");
    assert_eq!(layout["task"], json!({"type": "drone", "index": 0}));
    let mut farmer = role("work");
    farmer["label"] = json!("south");
    assert!(has(&odd(&json!({"Farmer": farmer})), "Farmer has no label"));
}

#[test]
fn mode_keeps_roles_apart() {
    let both = json!({"Farmer": role("work"), "Hand": role("work"), "Drone": role("work")});
    assert!(has(&errors(&both), "roles of more than one mode"));
    assert_eq!(job(&harvest()).spec.unwrap().mode.name, "Harvest");
}

// contract: 6.1
#[test]
fn chief_is_the_first_of_its_list_that_is_there() {
    let spec: Spec = job(&harvest()).spec.unwrap();
    let roles = spec.chiefs().map(|one| Farm::TABLE.role(one.role).name);
    assert_eq!(roles.collect::<Vec<_>>(), ["Farmer"]);
    assert!(has(
        &errors(&json!({"Crow": role("caw")})),
        "needs a Farmer or a Hand"
    ));
    let marked = pod(&harvest(), "wheat-farmer-0").metadata.labels.unwrap();
    assert_eq!(marked["training.kubeflow.org/job-role"], "master");
}

#[test]
fn workers_are_what_all_workers_means() {
    let fields = json!({"successPolicy": "AllWorkers", "mxReplicaSpecs": {"Farmer": role("work")}});
    assert!(has(&wrong(fields), "AllWorkers needs a Hand"));
}

#[test]
fn fixed_membership_makes_restarts_odd() {
    let roles = json!({"Farmer": role("work"), "Hand": role("work")});
    assert!(has(
        &odd(&roles),
        "a restarted Hand cannot rejoin a job of mode Harvest"
    ));
    let mut drone = role("work");
    drone["restartPolicy"] = json!("OnFailure");
    assert!(!has(&odd(&json!({"Drone": drone})), "cannot rejoin"));
}

#[test]
fn env_of_mode_and_role_in_this_order() {
    let hand = pod(&harvest(), "wheat-hand-1");
    let names: Vec<_> = container(&hand)
        .env
        .unwrap()
        .into_iter()
        .map(|var| var.name)
        .collect();
    assert_eq!(
        names,
        [
            "LAYOUT",
            "BARN",
            "BARN_PORT",
            "SEASON",
            "TOOL",
            "RANK",
            "CROWS",
            "HANDS"
        ]
    );
    let value = |name: &str| variable(&hand, name).unwrap();
    assert_eq!(
        (value("BARN"), value("BARN_PORT")),
        ("wheat-farmer-0".to_owned(), "7000".to_owned())
    );
    assert_eq!(
        (value("SEASON"), value("TOOL")),
        ("autumn".to_owned(), "scythe".to_owned())
    );
    assert_eq!(
        (value("RANK"), value("CROWS")),
        ("1".to_owned(), "1".to_owned())
    );
    assert_eq!(
        value("HANDS"),
        "wheat-hand-0:7000,wheat-hand-1:7000,wheat-hand-2:7000"
    );
    let drone = pod(&manifest(&json!({"Drone": role("work")})), "wheat-drone-0");
    assert_eq!(variable(&drone, "WHO").as_deref(), Some("drone"));
    assert_eq!(
        variable(&drone, "NAMESPACE").as_deref(),
        Some("metadata.namespace")
    );
}

#[test]
fn env_that_needs_an_absent_role_is_left_out_with_a_warning() {
    let mut roles = harvest()["spec"]["mxReplicaSpecs"].clone();
    assert!(!has(&odd(&roles), "gets no"));
    roles["Farmer"]["replicas"] = json!(0);
    assert!(has(
        &odd(&roles),
        "Crow gets no FARMER: the job has no Farmer"
    ));
}

#[test]
fn default_source_lets_the_manifest_win_and_a_text_does_not() {
    let mut manifest = harvest();
    let user = json!([{"name": "SEASON", "value": "spring"}, {"name": "TOOL", "value": "spoon"}]);
    manifest["spec"]["mxReplicaSpecs"]["Farmer"]["template"]["spec"]["containers"][0]["env"] = user;
    let farmer = pod(&manifest, "wheat-farmer-0");
    assert_eq!(variable(&farmer, "SEASON").as_deref(), Some("spring"));
    assert_eq!(variable(&farmer, "TOOL").as_deref(), Some("scythe"));
}

#[test]
fn mode_env_false_keeps_the_modes_variables_out() {
    let crow = pod(&harvest(), "wheat-crow-0");
    assert_eq!(variable(&crow, "BARN"), None);
    assert!(variable(&crow, "LAYOUT").is_some());
}

// contract: 2.3
#[test]
fn replicas_default_and_optional_are_the_numbers() {
    assert_eq!(pods(&harvest()).len(), 1 + 3 + 1);
    let mut hands = role("work");
    hands["replicas"] = json!(10);
    assert!(has(
        &errors(&json!({"Farmer": role("work"), "Hand": hands})),
        "must be 1 to 9"
    ));
    let absent = manifest(&json!({"Farmer": role("work"), "Crow": role("caw")}));
    assert_eq!(
        pods(&absent).len(),
        1,
        "a crow has no replica unless asked for"
    );
    let roles = &absent["spec"]["mxReplicaSpecs"];
    assert!(has(&odd(roles), "absent, so no Crow runs: say how many"));
    assert_eq!(errors(&json!({"Farmer": role("work")})), [""; 0]);
}

#[test]
fn a_role_that_is_not_optional_must_be_there() {
    let fields = json!({"jobMode": "Survey", "mxReplicaSpecs": {}});
    assert!(has(&wrong(fields), "Survey needs Drone"));
}

#[test]
fn requires_needs_the_other_role() {
    assert!(has(
        &errors(&json!({"Hand": role("work")})),
        "Hand needs a Farmer"
    ));
}

#[test]
fn restart_is_the_list_and_its_first_the_default() {
    let mut hand = role("work");
    hand["restartPolicy"] = json!("Always");
    assert!(has(
        &errors(&json!({"Farmer": role("work"), "Hand": hand})),
        "must be OnFailure or Never"
    ));
    let policy = |name: &str| pod(&harvest(), name).spec.unwrap().restart_policy.unwrap();
    assert_eq!(
        (policy("wheat-hand-0"), policy("wheat-farmer-0")),
        ("OnFailure".into(), "Never".into())
    );
}

#[test]
fn gpu_is_who_may_ask_for_accelerators() {
    let with_gpu = |name: &str| {
        let mut role = role("work");
        role["template"]["spec"]["containers"][0]["resources"] =
            json!({"limits": {"nvidia.com/gpu": "1"}});
        json!({name: role})
    };
    assert!(has(
        &odd(&with_gpu("Farmer")),
        "Farmer does not use accelerators"
    ));
    assert!(!has(&odd(&with_gpu("Drone")), "accelerators"));
}

#[test]
fn services_false_makes_none() {
    let job = job(&harvest());
    let wiring = Wiring::new(&job, job.spec.as_ref().unwrap(), Addresses::Cluster);
    let names: Vec<_> = wiring
        .services()
        .into_iter()
        .filter_map(|service| service.metadata.name)
        .collect();
    assert_eq!(
        names,
        [
            "wheat-farmer-0",
            "wheat-hand-0",
            "wheat-hand-1",
            "wheat-hand-2"
        ]
    );
}

#[test]
fn rename_is_the_name_everywhere() {
    assert_eq!(
        (Farm::Bird.name(), Farm::parse("crow")),
        ("Crow", Some(Farm::Bird))
    );
    assert!(has(
        &errors(&json!({"Farmer": role("work"), "Bird": role("work")})),
        r#"unknown replica type "Bird""#
    ));
}
