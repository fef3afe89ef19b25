//! The rights that the operator asks for are those that it uses: it runs as the service account that `mxjob rbac`
//! makes roles for, jobs of each API live, and the server's audit log is joined with the roles.

mod lives;
mod manifest;
mod taken;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::deadline::{Seen, until};
use e2e::proxy::{Fault, Proxy, Rule};
use e2e::{ControlPlane, ports};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::Client;
use kube::api::{Api, PostParams};
use mxjob_core::api::Version;
use mxjob_core::role::apis;
use mxjob_core::{MxRole, schema};
use serde_json::{Value, json};

use crate::bench::{Bench, LEASE, Operator, PATIENCE};
use crate::deploy::{How, apply, rbac};

const ACCOUNT: &str = "mxjob-operator";

/// An operator with the rights of its service account alone.
struct Guarded<'a> {
    plane: &'a ControlPlane,
    /// Where the account is.
    own: String,
    roles: Vec<Value>,
    operator: Operator,
    proxy: Proxy,
}

/// A right as it is used: group, resource, verb, and name where one is said.
type Use = (String, String, String, Option<String>);

impl<'a> Guarded<'a> {
    /// Starts one that is in `own`, with these arguments, which are those of `mxjob rbac`, too.
    async fn start(
        plane: &'a ControlPlane,
        own: &str,
        arguments: &[&str],
        webhook: bool,
    ) -> Result<Self> {
        let client = plane.client().await?;
        let all = [arguments, &["--own-namespace", own]].concat();
        let mut roles = rbac(&all)?;
        // Others of this cluster have theirs.
        for object in &mut roles {
            if object["metadata"]["namespace"].is_null() {
                object["metadata"]["name"] = json!(own);
                if object["roleRef"].is_object() {
                    object["roleRef"]["name"] = json!(own);
                }
            }
        }
        for object in &roles {
            apply(&client, object, How::Keep).await?;
        }
        in_force(&client, own, &roles, true).await?;
        let account = json!({"metadata": {"name": ACCOUNT}});
        let accounts: Api<ServiceAccount> = Api::namespaced(client, own);
        let account = serde_json::from_value(account)?;
        accounts.create(&PostParams::default(), &account).await?;
        let proxy = Proxy::start_as(&plane.kubeconfig_of(own, ACCOUNT).await?).await?;
        // Whether the job is still there is asked when its status is not.
        let gone = Fault::Before {
            code: 404,
            retry_after: None,
        };
        for job in lives::NAMES {
            let rule = Rule::on("patch", "mxjobs/status").named(job);
            proxy.add(rule.after(1).times(1).fault(gone));
        }
        let address = format!("127.0.0.1:{}", ports::free()?);
        let url = format!("https://{address}");
        let reached = [
            ["--webhook-bind-address", &address],
            ["--webhook-url", &url],
        ];
        let mut all = [&all, ["--lease-name", LEASE].as_slice()].concat();
        if webhook {
            all.extend(reached.as_flattened());
        }
        let operator = Operator::start_by(&proxy, &all)?;
        operator.says("caches are complete").await?;
        // Installed, it is pointed there already.
        if webhook && !arguments.contains(&"--install-crds") {
            operator.says("its conversion is pointed here").await?;
        }
        Ok(Self {
            plane,
            own: own.to_owned(),
            roles,
            operator,
            proxy,
        })
    }

    /// What the account has asked for, and what of it was denied.
    fn asked(&self) -> Result<(BTreeSet<Use>, Vec<String>)> {
        let account = format!("system:serviceaccount:{}:{ACCOUNT}", self.own);
        let (mut used, mut denied) = (BTreeSet::new(), Vec::new());
        for event in self.plane.audit_log(&account)? {
            if event["user"]["username"] != *account {
                continue;
            }
            let object = &event["objectRef"];
            let word = |key: &str| object[key].as_str().map(str::to_owned);
            let verb = event["verb"].as_str().unwrap_or_default().to_owned();
            let code = &event["responseStatus"]["code"];
            if event["annotations"]["authorization.k8s.io/decision"] != "allow" || *code == 403 {
                denied.push(format!("{verb} {}", event["requestURI"]));
            }
            let Some(mut resource) = word("resource") else {
                continue;
            };
            if let Some(sub) = word("subresource") {
                resource = format!("{resource}/{sub}");
            }
            let group = word("apiGroup").unwrap_or_default();
            // An apply that made the object was allowed as a create of that name, too.
            if verb == "patch" && *code == 201 {
                let verb = "create".to_owned();
                used.insert((group.clone(), resource.clone(), verb, word("name")));
            }
            used.insert((group, resource, verb, word("name")));
        }
        Ok((used, denied))
    }

    /// Nothing was denied, and nothing is allowed in vain. It has stopped then, and given its lease back.
    async fn ends_exact(mut self) -> Result<()> {
        self.operator.tell_to_stop()?;
        self.operator.end(PATIENCE).await?;
        let (used, denied) = self.asked()?;
        ensure!(
            denied.is_empty(),
            "denied: {denied:#?}\n{}",
            self.operator.log()?
        );
        let idle: Vec<_> = self
            .roles
            .iter()
            .flat_map(allowed)
            .filter(|right| !used.iter().any(|one| is_of(one, right)))
            // Looked up by an admission plugin, of which the log does not tell: without this right the first
            // test here makes no pod.
            .filter(|(_, resource, ..)| !resource.ends_with("/finalizers"))
            .collect();
        ensure!(
            idle.is_empty(),
            "allowed in vain: {idle:#?}\n{}",
            self.operator.log()?
        );
        Ok(())
    }
}

/// Waits until the server goes by these roles: it learns of them by a watch of its own. Or, when they are
/// not allowed any more, until it does not.
async fn in_force(client: &Client, own: &str, roles: &[Value], allows: bool) -> Result<()> {
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    for role in roles.iter().filter(|role| role["rules"].is_array()) {
        let Some((group, resource, verb, name)) = allowed(role).into_iter().next() else {
            continue;
        };
        let (resource, sub) = resource.split_once('/').unwrap_or((&resource, ""));
        let review = json!({"spec": {
            "user": format!("system:serviceaccount:{own}:{ACCOUNT}"),
            "resourceAttributes": {
                "namespace": role["metadata"]["namespace"], "group": group, "resource": resource,
                "subresource": sub, "verb": verb, "name": name,
            },
        }});
        let review = serde_json::from_value(review)?;
        until("the rights to be in force", PATIENCE, || async {
            let answer = reviews.create(&PostParams::default(), &review).await?;
            Ok(answer.status.is_some_and(|status| status.allowed) == allows)
        })
        .await?;
    }
    Ok(())
}

/// Every right of a role by itself.
fn allowed(role: &Value) -> Vec<Use> {
    let words = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = Vec::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        let mut names: Vec<_> = words(&rule["resourceNames"])
            .into_iter()
            .map(Some)
            .collect();
        if names.is_empty() {
            names.push(None);
        }
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                for verb in words(&rule["verbs"]) {
                    let of = |name: &Option<String>| {
                        (group.clone(), resource.clone(), verb.clone(), name.clone())
                    };
                    all.extend(names.iter().map(of));
                }
            }
        }
    }
    all
}

fn is_of(used: &Use, right: &Use) -> bool {
    let same = (&used.0, &used.1, &used.2) == (&right.0, &right.1, &right.2);
    same && (right.3.is_none() || right.3 == used.3)
}

/// A control plane of its own with all definitions, and with an eye to who may own.
async fn plane() -> Result<ControlPlane> {
    let plane = ControlPlane::start_guarding_owners().await?;
    let definitions: Vec<_> = apis::<MxRole>().map(schema::crd).collect();
    plane.install_crds(&definitions).await?;
    let pods: Api<Pod> = Api::namespaced(plane.client().await?, "default");
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    for table in apis::<MxRole>() {
        let owner = json!({
            "apiVersion": Version::stored(table).full(table), "kind": table.crd.kind,
            "name": "nobody", "uid": "0", "controller": true, "blockOwnerDeletion": true,
        });
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "probe", "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "mxnet", "image": "example.com/mxnet:1"}]},
        }))?;
        let what = format!("an owner of {}", table.crd.group);
        until(&what, PATIENCE, || async {
            Ok(match pods.create(&dry, &pod).await {
                Ok(_) => Seen::Done(()),
                Err(error) => Seen::NotYet(error.to_string()),
            })
        })
        .await?;
    }
    Ok(plane)
}

// promise: P88
#[tokio::test]
async fn in_namespaces_of_each_api_nothing_is_denied_and_nothing_is_idle() -> Result<()> {
    let plane = plane().await?;
    let of = async |api: &'static str| -> Result<()> {
        let bench = Bench::new(&plane, "rights").await?;
        let own = plane.namespace("own").await?;
        let arguments = ["--api", api, "--namespace", &bench.namespace];
        let guarded = Guarded::start(&plane, &own, &arguments, api == "kubeflow.org").await?;
        lives::live(&bench, api).await?;
        guarded.ends_exact().await.with_context(|| api)
    };
    futures::try_join!(
        of("kubeflow.org"),
        of("fioravanzo.org"),
        of("mxnet.mlkube.io")
    )?;
    Ok(())
}

// promise: P88
#[tokio::test]
async fn everywhere_and_with_the_definitions_nothing_is_denied_and_nothing_is_idle() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let own = plane.namespace("own").await?;
    let all: Vec<_> = apis::<MxRole>().map(|table| table.crd.group).collect();
    let arguments = ["--api", &all.join(","), "--install-crds"];
    let guarded = Guarded::start(&plane, &own, &arguments, true).await?;
    plane.restart_controllers().await?;
    for api in all {
        let bench = Bench::new(&plane, "rights").await?;
        lives::live(&bench, api).await?;
    }
    guarded.ends_exact().await
}
