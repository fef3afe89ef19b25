//! The CustomResourceDefinition: installed on request, missed aloud.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::core::Status;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::Condition as _;
use kube::{Api, Client, ResourceExt as _};
use mxjob_core::{RoleTable, schema};

use super::backoff;
use super::words::failure;
use crate::webhook::Pointer;

/// Whom server-side apply knows the CRD's fields to belong to.
const FIELD_MANAGER: &str = "mxjob";
const POLL: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_mins(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Why the CRD is not installed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CrdError {
    /// The server refused it; it would do so again.
    #[error("cannot install {name}: {}", .status.message)]
    Refused {
        /// The CRD.
        name: String,
        /// The server's answer.
        status: Box<Status>,
    },
    /// Its objects are of another kind, and would be read as ours.
    #[error(
        "cannot install {name}: there is one of another vendor, of {scope} objects of kind {kind}, whose fields would be \
         lost; save them and delete it first, or start the operator without --install-crds"
    )]
    Foreign {
        /// The CRD.
        name: String,
        /// Whether they are in namespaces.
        scope: String,
        /// Their kind.
        kind: String,
    },
    /// The server took it and does not serve it.
    #[error("{name} is installed but not established after {} s: look at its conditions", PATIENCE.as_secs())]
    NotEstablished {
        /// The CRD.
        name: String,
    },
}

/// The command that installs the CRD, or updates it.
pub(super) fn command(table: &RoleTable) -> String {
    let group = table.crd.group;
    format!("`mxjob crds --api {group} | kubectl apply --server-side -f -`")
}

/// What to say when the CRD is not there.
pub(super) fn missing(table: &RoleTable) -> String {
    let (plural, group) = (table.crd.plural, table.crd.group);
    let command = command(table);
    format!(
        "{plural}.{group} is not installed: run {command}, or start the operator with --install-crds; waiting \
         for it"
    )
}

/// Creates or updates the CRD and waits until it is served.
///
/// In one step with what points it to the webhook: without that the server would "convert" objects of
/// other versions by changing nothing but the version's name. A conversion that is there stays.
pub(super) async fn install(
    client: &Client,
    table: &'static RoleTable,
    webhook: Option<&Pointer>,
) -> Result<(), CrdError> {
    let crd = schema::crd(table);
    let name = crd.name_any();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    apply(&api, crd, &name, webhook).await?;
    let established = async {
        loop {
            match api.get_opt(&name).await {
                Ok(found) if is_crd_established().matches_object(found.as_ref()) => return,
                Ok(_) => {}
                Err(error) => tracing::debug!(error = %failure(&error), "cannot read {name}"),
            }
            tokio::time::sleep(POLL).await;
        }
    };
    match tokio::time::timeout(PATIENCE, established).await {
        Ok(()) => {
            tracing::info!(crd = name, "installed and established");
            Ok(())
        }
        Err(_) => Err(CrdError::NotEstablished { name }),
    }
}

async fn apply(
    api: &Api<CustomResourceDefinition>,
    mut crd: CustomResourceDefinition,
    name: &str,
    webhook: Option<&Pointer>,
) -> Result<(), CrdError> {
    let how = PatchParams::apply(FIELD_MANAGER).force();
    for failures in 1.. {
        let applied = async {
            let present = api.get_opt(name).await?;
            if let Some(foreign) = present.as_ref().and_then(|present| foreign(present, &crd)) {
                return Ok(Err(foreign));
            }
            let conversion = present.and_then(|present| present.spec.conversion);
            let conversion = conversion.filter(|conversion| conversion.webhook.is_some());
            crd.spec.conversion = conversion.or(crd.spec.conversion.take());
            if let Some(webhook) = webhook {
                webhook.inject(&mut crd);
            }
            api.patch(name, &how, &Patch::Apply(&crd)).await.map(Ok)
        };
        match applied.await {
            Ok(applied) => {
                applied?;
                break;
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 400..=428 | 430..=499) => {
                return Err(CrdError::Refused {
                    name: name.to_owned(),
                    status,
                });
            }
            Err(error) => {
                tracing::warn!(
                    error = %failure(&error),
                    crd = name,
                    "cannot install, trying again"
                );
                tokio::time::sleep(backoff::wait(failures).min(LONGEST_WAIT)).await;
            }
        }
    }
    Ok(())
}

/// What is there, if it is not an older or newer definition of the same resource.
fn foreign(
    present: &CustomResourceDefinition,
    ours: &CustomResourceDefinition,
) -> Option<CrdError> {
    let (theirs, ours) = (&present.spec, &ours.spec);
    let is_ours =
        theirs.scope == ours.scope && theirs.names.kind.eq_ignore_ascii_case(&ours.names.kind);
    (!is_ours).then(|| CrdError::Foreign {
        name: present.name_any(),
        scope: theirs.scope.clone(),
        kind: theirs.names.kind.clone(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use kube::client::Body;
    use mxjob_core::{MxRole, ReplicaRole as _};
    use tower::service_fn;

    use super::*;

    // defect: D12
    #[tokio::test(start_paused = true)]
    async fn a_definition_that_is_not_established_in_time_is_left_where_it_is() {
        let asked: Arc<Mutex<Vec<Method>>> = Arc::default();
        let seen = asked.clone();
        let answer = serde_json::to_vec(&schema::crd(MxRole::TABLE)).unwrap();
        let server = service_fn(move |request: Request<Body>| {
            seen.lock().unwrap().push(request.method().clone());
            let answer = answer.clone();
            async { Response::builder().body(Body::from(answer)) }
        });
        let client = Client::new(server, "default");
        let error = install(&client, MxRole::TABLE, None).await.unwrap_err();
        let wanted = "mxjobs.kubeflow.org is installed but not established after 60 s: look at its conditions";
        assert_eq!(error.to_string(), wanted);
        let asked = asked.lock().unwrap();
        assert_eq!(asked.iter().filter(|one| **one == Method::PATCH).count(), 1);
        assert!(!asked.contains(&Method::DELETE), "{asked:?}");
    }
}
