//! Several operators of the same jobs: one leads, the others stand by.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::{ControlPlane, ScriptedKubelet, User, http, ports};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, LEASE, Operator, PATIENCE, converts, training};
use crate::facts::{each_pod_once, said_once};

const LEADS: &str = "this operator leads";
const SYNCED: &str = "caches are complete";

fn start(plane: &ControlPlane, bench: &Bench) -> Result<Operator> {
    Operator::start_rival(&plane.kubeconfig(), &bench.namespace, &[])
}

/// One that leads, and one that stands by.
async fn two(plane: &ControlPlane, bench: &Bench) -> Result<(Operator, Operator)> {
    let leader = start(plane, bench)?;
    leader.says(LEADS).await?;
    let standby = start(plane, bench)?;
    standby.says("caches are complete, standing by").await?;
    Ok((leader, standby))
}

fn leases(bench: &Bench) -> Api<Lease> {
    Api::namespaced(bench.client.clone(), &bench.namespace)
}

async fn holder(bench: &Bench) -> Result<Option<String>> {
    let lease = leases(bench).get_opt(LEASE).await?;
    Ok(lease.and_then(|lease| lease.spec?.holder_identity))
}

/// Waits until that one holds the lease.
async fn holds(bench: &Bench, operator: &Operator) -> Result<()> {
    let identity = operator.identity().await?;
    until(
        &format!("{identity} to hold the lease"),
        PATIENCE,
        || async {
            let holder = holder(bench).await?;
            Ok(if holder.as_ref() == Some(&identity) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{holder:?}"))
            })
        },
    )
    .await
}

/// Whether it is ready, and what its metric says.
async fn standing(operator: &Operator) -> Result<(u16, bool)> {
    let (ready, ..) = http::get(operator.address("health").await?, "/readyz").await?;
    let (_, _, metrics) = http::get(operator.address("metrics").await?, "/metrics").await?;
    Ok((ready, metrics.lines().any(|line| line == "mxjob_leader 1")))
}

/// Writes of that operator in the namespace.
async fn writes(bench: &Bench, plane: &ControlPlane, operator: &Operator) -> Result<Vec<Value>> {
    let identity = operator.identity().await?;
    let mut events = plane.audit_log(&bench.namespace)?;
    events.retain(|event| {
        let agent = event["userAgent"].as_str().unwrap_or_default();
        let verb = event["verb"].as_str().unwrap_or_default();
        agent.contains(&identity) && !["get", "list", "watch"].contains(&verb)
    });
    Ok(events)
}

// contract: 11.17, 11.20
// promise: P91
#[tokio::test]
async fn a_standby_is_ready_writes_nothing_and_leads_at_once_when_the_lease_is_given_back()
-> Result<()> {
    let (bench, plane) = Bench::shared("standby").await?;
    let (leader, standby) = two(plane, &bench).await?;
    ensure!(standing(&leader).await? == (200, true));
    ensure!(standing(&standby).await? == (200, false));
    let kubelet = ScriptedKubelet::run_all(bench.client.clone(), &bench.namespace);
    bench.create(&training("digits", 1, 1)).await?;
    bench.phase("digits", "Running").await?;
    let sent = writes(&bench, plane, &standby).await?;
    ensure!(sent.is_empty(), "{sent:#?}");
    holds(&bench, &leader).await?;

    let start = Instant::now();
    let status = leader.terminate(Duration::from_secs(5)).await?;
    ensure!(status.success(), "{status}");
    standby.says(LEADS).await?;
    let taken = start.elapsed();
    ensure!(taken < Duration::from_secs(3), "after {taken:?}");
    holds(&bench, &standby).await?;
    for pod in ["digits-worker-0", "digits-scheduler-0"] {
        kubelet.succeed(pod).await?;
    }
    bench.phase("digits", "Succeeded").await?;
    each_pod_once(&bench, plane, "digits")?;
    ensure!(standing(&standby).await? == (200, true));
    let lease = leases(&bench).get(LEASE).await?;
    let spec = lease.spec.context("no spec")?;
    ensure!(spec.lease_duration_seconds == Some(5), "{spec:?}");
    ensure!(spec.lease_transitions == Some(1), "{spec:?}");
    let status = standby.terminate(Duration::from_secs(5)).await?;
    ensure!(status.success(), "{status}");
    ensure!(holder(&bench).await?.is_none());
    Ok(())
}

// contract: 11.20
#[tokio::test]
async fn a_standby_converts() -> Result<()> {
    // A control plane of its own: who converts is of all namespaces.
    let (bench, plane) = Bench::own("converts").await?;
    let leader = start(&plane, &bench)?;
    leader.says(LEADS).await?;
    let address = format!("127.0.0.1:{}", ports::free()?);
    let url = format!("https://{address}");
    let webhook = ["--webhook-bind-address", &address, "--webhook-url", &url];
    let kubeconfig = plane.kubeconfig();
    let standby = Operator::start_rival(&kubeconfig, &bench.namespace, &webhook)?;
    standby.says("its conversion is pointed here").await?;
    bench.create(&training("digits", 1, 1)).await?;
    converts(&bench.client, &bench.namespace).await?;
    ensure!(standing(&standby).await? == (200, false));
    let mut sent = writes(&bench, &plane, &standby).await?;
    sent.retain(|event| event["objectRef"]["resource"] != "secrets");
    ensure!(sent.is_empty(), "{sent:#?}");
    Ok(())
}

// contract: 11.19
#[tokio::test]
async fn a_lease_that_somebody_edits_or_deletes_is_put_right() -> Result<()> {
    let (bench, plane) = Bench::shared("edited-lease").await?;
    let (mut leader, standby) = two(plane, &bench).await?;
    let leases = leases(&bench);
    let how = PatchParams::default();
    // Its holder is taken out, and something is put in.
    let changes = json!({
        "metadata": {"labels": {"somebodys": "own"}},
        "spec": {"holderIdentity": null, "leaseDurationSeconds": 1},
    });
    leases.patch(LEASE, &how, &Patch::Merge(changes)).await?;
    holds(&bench, &leader).await?;
    let lease = leases.get(LEASE).await?;
    let labels = lease.metadata.labels.unwrap_or_default();
    ensure!(labels.contains_key("somebodys"), "{labels:?}");
    let spec = lease.spec.context("no spec")?;
    ensure!(spec.lease_duration_seconds == Some(5), "{spec:?}");
    // It is deleted.
    leases.delete(LEASE, &DeleteParams::default()).await?;
    holds(&bench, &leader).await?;
    ensure!(!standby.log()?.contains(LEADS), "{}", standby.log()?);
    said_once(&leader, LEADS)?;

    // Somebody gives it to somebody else, who never uses it.
    let changes = json!({"spec": {"holderIdentity": "nobody-we-know"}});
    leases.patch(LEASE, &how, &Patch::Merge(changes)).await?;
    let status = leader.end(PATIENCE).await?;
    ensure!(status.code() == Some(1), "{status}");
    let log = leader.log()?;
    let wanted = "this operator has lost the lease, it is held by nobody-we-know now";
    ensure!(log.contains(wanted), "{log}");
    standby.says(LEADS).await?;
    bench.create(&training("digits", 1, 1)).await?;
    bench.pods(3).await?;
    Ok(())
}

/// The binding of what [`allow`] allows.
pub(crate) const OPERATOR_BINDING: &str = "operator";

/// What an operator of one namespace is allowed there.
pub(crate) async fn allow(bench: &Bench, more: &[Value]) -> Result<()> {
    let all = json!(["create", "get", "list", "watch", "patch", "delete"]);
    let mut rules = vec![
        json!({"apiGroups": ["kubeflow.org"], "resources": ["mxjobs", "mxjobs/status"], "verbs": all}),
        json!({"apiGroups": [""], "resources": ["pods", "services", "configmaps"], "verbs": all}),
        json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": all}),
    ];
    rules.extend_from_slice(more);
    let group = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "operator"}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": OPERATOR_BINDING},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "operator"},
        "subjects": [{"kind": "User", "name": User::Operator.name(), "apiGroup": group}],
    });
    let how = PatchParams::apply("e2e");
    let granted: Api<Role> = Api::namespaced(bench.client.clone(), &bench.namespace);
    granted.patch("operator", &how, &Patch::Apply(role)).await?;
    let bindings: Api<RoleBinding> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let binding = Patch::Apply(binding);
    bindings.patch(OPERATOR_BINDING, &how, &binding).await?;
    Ok(())
}

// contract: 11.21
#[tokio::test]
async fn without_the_right_to_the_lease_it_says_so_and_leads_when_it_has_it() -> Result<()> {
    let (bench, plane) = Bench::shared("no-lease").await?;
    allow(&bench, &[]).await?;
    let kubeconfig = plane.kubeconfig_as(User::Operator);
    let operator = Operator::start_rival(&kubeconfig, &bench.namespace, &[])?;
    let namespace = &bench.namespace;
    let advice = format!(
        "cannot be elected: it needs the right to create leases of coordination.k8s.io in namespace {namespace}, and \
         to get and patch the one named {LEASE}"
    );
    operator.says(&advice).await?;
    operator.says("caches are complete, standing by").await?;
    bench.create(&training("digits", 1, 1)).await?;
    // It asks again.
    until("another attempt", PATIENCE, || async {
        let log = plane.audit_log(&bench.namespace)?;
        let asked = log.iter().filter(|event| {
            event["objectRef"]["resource"] == "leases" && event["responseStatus"]["code"] == 403
        });
        Ok(asked.count() >= 3)
    })
    .await?;
    ensure!(standing(&operator).await? == (200, false));
    said_once(&operator, "cannot be elected")?;
    // No more than this.
    let leases =
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]});
    let one = json!({
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "resourceNames": [LEASE], "verbs": ["get", "patch"],
    });
    allow(&bench, &[leases, one]).await?;
    operator.says(LEADS).await?;
    bench.pods(3).await?;
    Ok(())
}

// contract: 11.18
#[tokio::test]
async fn a_server_that_is_away_for_longer_than_the_lease_ends_the_leader_and_the_next_goes_on()
-> Result<()> {
    let (bench, plane) = Bench::own("outage-leader").await?;
    let (mut leader, standby) = two(&plane, &bench).await?;
    bench.create(&training("large", 0, 200)).await?;
    until("the first pods", PATIENCE, || async {
        Ok(bench.writes(&plane, "create", "pods")? >= 10)
    })
    .await?;
    plane.stop_apiserver().await?;
    let gone = Instant::now();
    let status = leader.end(PATIENCE).await?;
    let ended = gone.elapsed();
    ensure!(status.code() == Some(1), "{status}");
    ensure!(ended < Duration::from_secs(5), "after {ended:?}");
    let log = leader.log()?;
    let wanted = "this operator has lost the lease, it could not be renewed in time";
    ensure!(log.contains(wanted), "{log}");
    // As the cluster starts it again.
    let again = start(&plane, &bench)?;
    tokio::time::sleep(Duration::from_secs(6)).await;
    for waiting in [&standby, &again] {
        ensure!(!waiting.log()?.contains(LEADS), "{}", waiting.log()?);
    }
    plane.start_apiserver().await?;
    bench.pods(201).await?;
    each_pod_once(&bench, &plane, "large")?;
    ensure!(bench.writes(&plane, "delete", "pods")? == 0);
    let logs = [standby.log()?, again.log()?];
    let leading = logs.iter().filter(|log| log.contains(LEADS)).count();
    ensure!(leading == 1, "{logs:#?}");
    Ok(())
}

// contract: 11.22
#[tokio::test]
async fn without_an_election_nobody_is_asked() -> Result<()> {
    let (bench, plane) = Bench::shared("unopposed").await?;
    let leader = start(plane, &bench)?;
    leader.says(LEADS).await?;
    let alone = ["--leader-elect=false"];
    let other = Operator::start_rival(&plane.kubeconfig(), &bench.namespace, &alone)?;
    other.says(SYNCED).await?;
    ensure!(standing(&other).await? == (200, true));
    leader.signal("-STOP")?;
    bench.create(&training("digits", 1, 1)).await?;
    bench.pods(3).await?;
    let leases = writes(&bench, plane, &other).await?;
    ensure!(
        leases
            .iter()
            .all(|event| event["objectRef"]["resource"] != "leases"),
        "{leases:#?}"
    );
    Ok(())
}
