//! The lease as an object of the cluster: read, and written over what was read.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Status;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::election::{Claim, Holder, Record};

/// Says that the holder has given the lease back, and not that somebody has emptied its field.
const RELEASED: &str = "mxjob.kubeflow.org/released-by";
const FORBIDDEN: u16 = 403;
const NOT_FOUND: u16 = 404;

/// Where the lease is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    api: Api<Lease>,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum Written {
    /// It is there now.
    Done(Record),
    /// It was another one by then, or gone.
    Conflict,
}

impl Place {
    /// The lease of that name.
    pub(super) fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Reads it; `None`: it is not there.
    pub(super) async fn read(&self) -> kube::Result<Option<Record>> {
        let lease = self.api.get_opt(&self.name).await?;
        Ok(lease.map(|lease| record(&lease)))
    }

    /// Writes that `me` holds it from now on, or still.
    pub(super) async fn claim(
        &self,
        me: &str,
        term: Duration,
        claim: &Claim,
    ) -> kube::Result<Written> {
        match claim {
            Claim::Create => {
                let how = PostParams::default();
                let lease = fresh(&self.name, me, term);
                written(self.api.create(&how, &lease).await)
            }
            Claim::Over(record) => self.patch(&held(me, term, record)).await,
        }
    }

    /// Writes that `me` holds it no longer.
    pub(super) async fn release(&self, me: &str, record: &Record) -> kube::Result<Written> {
        self.patch(&released(me, record)).await
    }

    async fn patch(&self, changes: &Value) -> kube::Result<Written> {
        let how = PatchParams::default();
        // What others have put there stays.
        let patch = Patch::Merge(changes);
        written(self.api.patch(&self.name, &how, &patch).await)
    }

    /// What is wrong, and what somebody has to do about it, if anything.
    pub(super) fn complaint(&self, error: &kube::Error) -> (String, Option<String>) {
        let Self {
            namespace, name, ..
        } = self;
        let status = match error {
            kube::Error::Api(status) => status,
            error => return (error.to_string(), None),
        };
        let advice = match status.code {
            FORBIDDEN => Some(format!(
                "it needs the right to create leases of coordination.k8s.io in namespace {namespace}, and to get and \
                 patch the one named {name}"
            )),
            _ if is_lack_of_namespace(status) => {
                Some("name the operator's own namespace with --own-namespace".to_owned())
            }
            _ => None,
        };
        (status.message.clone(), advice)
    }
}

fn is_lack_of_namespace(status: &Status) -> bool {
    let kind = status.details.as_ref().map(|details| details.kind.as_str());
    status.code == NOT_FOUND && kind == Some("namespaces")
}

fn written(answer: kube::Result<Lease>) -> kube::Result<Written> {
    match answer {
        Ok(lease) => Ok(Written::Done(record(&lease))),
        Err(kube::Error::Api(status)) if is_lack_of_namespace(&status) => {
            Err(kube::Error::Api(status))
        }
        Err(kube::Error::Api(status))
            if status.is_conflict() || status.is_already_exists() || status.is_not_found() =>
        {
            Ok(Written::Conflict)
        }
        Err(error) => Err(error),
    }
}

fn record(lease: &Lease) -> Record {
    let spec = lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.clone());
    let holder = match holder.filter(|holder| !holder.is_empty()) {
        Some(holder) => Holder::Named(holder),
        None if lease.annotations().contains_key(RELEASED) => Holder::Released,
        None => Holder::Nobody,
    };
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Record {
        // One that was deleted and made again is another one.
        version: lease.resource_version().unwrap_or_default(),
        holder,
        lease: Duration::from_secs(seconds.unwrap_or_default()),
        transitions: spec
            .and_then(|spec| spec.lease_transitions)
            .unwrap_or_default(),
    }
}

fn seconds(lease: Duration) -> i32 {
    i32::try_from(lease.as_secs()).unwrap_or(i32::MAX)
}

fn fresh(name: &str, me: &str, lease: Duration) -> Lease {
    let now = Some(MicroTime(Timestamp::now()));
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(me.to_owned()),
            lease_duration_seconds: Some(seconds(lease)),
            acquire_time: now.clone(),
            renew_time: now,
            lease_transitions: Some(0),
            ..LeaseSpec::default()
        }),
    }
}

/// The times are for people; no operator reads them.
fn held(me: &str, lease: Duration, before: &Record) -> Value {
    let now = MicroTime(Timestamp::now());
    let mut changes = json!({
        "metadata": {"resourceVersion": before.version, "annotations": {RELEASED: null}},
        "spec": {
            "holderIdentity": me,
            "leaseDurationSeconds": seconds(lease),
            "renewTime": now,
        },
    });
    if before.holder != Holder::Named(me.to_owned())
        && let Some(spec) = changes.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.insert("acquireTime".to_owned(), json!(now));
        let transitions = before.transitions.saturating_add(1);
        spec.insert("leaseTransitions".to_owned(), json!(transitions));
    }
    changes
}

fn released(me: &str, before: &Record) -> Value {
    json!({
        "metadata": {"resourceVersion": before.version, "annotations": {RELEASED: me}},
        "spec": {"holderIdentity": null, "renewTime": MicroTime(Timestamp::now())},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(object: Value) -> Record {
        record(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_lease_without_a_holder_was_given_back_only_if_it_says_so() {
        let holder = |annotations: Value, holder: Value| {
            let lease = json!({
                "metadata": {"resourceVersion": "7", "annotations": annotations},
                "spec": {"holderIdentity": holder, "leaseDurationSeconds": 5, "leaseTransitions": 3},
            });
            read(lease).holder
        };
        let mark = json!({RELEASED: "a"});
        assert_eq!(holder(json!({}), Value::Null), Holder::Nobody);
        assert_eq!(holder(json!({}), json!("")), Holder::Nobody);
        assert_eq!(holder(mark.clone(), Value::Null), Holder::Released);
        assert_eq!(holder(mark, json!("b")), Holder::Named("b".to_owned()));
    }

    #[test]
    fn whatever_stands_in_it_can_be_read() {
        for spec in [
            Value::Null,
            json!({}),
            json!({"leaseDurationSeconds": -4, "leaseTransitions": 2_147_483_647}),
        ] {
            let read = read(json!({"metadata": {}, "spec": spec}));
            assert_eq!(
                (read.holder.clone(), read.lease),
                (Holder::Nobody, Duration::ZERO)
            );
            assert!(held("me", Duration::from_secs(5), &read)["spec"]["leaseTransitions"].is_i64());
        }
    }

    #[test]
    fn it_is_written_over_what_was_read_and_a_renewal_is_no_change_of_hands() {
        let before = |holder| Record {
            version: "7".to_owned(),
            holder,
            lease: Duration::from_secs(5),
            transitions: 3,
        };
        let taken = held("me", Duration::from_secs(5), &before(Holder::Released));
        assert_eq!(taken["metadata"]["resourceVersion"], "7");
        assert_eq!(taken["metadata"]["annotations"], json!({RELEASED: null}));
        assert_eq!(taken["spec"]["leaseTransitions"], 4);
        assert_eq!(taken["spec"]["leaseDurationSeconds"], 5);
        let mine = before(Holder::Named("me".to_owned()));
        let kept = held("me", Duration::from_secs(5), &mine);
        assert!(kept["spec"].get("leaseTransitions").is_none());
        assert!(kept["spec"].get("acquireTime").is_none());
        let back = released("me", &mine);
        assert_eq!(back["metadata"]["resourceVersion"], "7");
        assert_eq!(back["spec"]["holderIdentity"], Value::Null);
    }
}
