//! The conversion webhook: the apiserver has objects converted here between the versions of the
//! custom resource. Only role sets with older versions have one; `v1` works without.
//!
//! # Who trusts whom
//!
//! Every operator makes a CA and one certificate signed by it, in memory, and forgets the CA's key at
//! once: nothing else will ever be signed by it, no Secret has to be read, written, shared or guarded,
//! and an operator outside the cluster works like one inside. Behind one Service several operators
//! answer (the leader and those that wait, the old one and the new one of an update), so each puts its
//! CA into the `caBundle` of the CustomResourceDefinition beside those that are there. Who finds its
//! own missing puts it back. CAs of operators that are gone are of no use to anybody; the newest
//! [`MOST`](conversion::MOST) stay, the others make room.
//!
//! A certificate is renewed long before it ends: the new CA goes into the bundle first, beside the
//! old one, and the new certificate is served once every apiserver has had time to read that. Open
//! connections stay.

mod address;
mod conversion;
mod identity;
mod keeper;
mod rotation;
mod server;
#[cfg(test)]
mod tests;

use std::time::SystemTime;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use mxjob_core::RoleTable;
use mxjob_core::api::Version;
use prometheus_client::metrics::counter::Counter;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) use address::{Reach, WebhookUrl};
pub(crate) use identity::IdentityError;
use keeper::Keeper;
use rotation::Rotation;
use server::Server;

use crate::controller::Stop;

/// Answers a ConversionReview with a ConversionReview, whatever it is.
pub(crate) type Review = fn(&'static RoleTable, &Value) -> Value;

/// Whether a role set has versions to convert to.
pub(crate) fn is_needed(table: &RoleTable) -> bool {
    older(table).next().is_some()
}

/// Its versions but for the one that is stored.
fn older(table: &RoleTable) -> impl Iterator<Item = &'static str> + use<> {
    let stored = Version::stored(table);
    let versions = Version::of(table).filter(move |version| *version != stored);
    versions.map(Version::name)
}

/// The webhook of one operator.
#[derive(Debug)]
pub(crate) struct Webhook {
    table: &'static RoleTable,
    reach: Option<Reach>,
    rotation: Rotation,
    answering: JoinHandle<()>,
}

impl Webhook {
    /// Answers until it is time to stop, in a task of its own, with a certificate for wherever it is
    /// reached (`None`: nowhere). `reviews` counts the answers.
    pub(crate) fn start(
        table: &'static RoleTable,
        reach: Option<Reach>,
        listener: TcpListener,
        review: Review,
        reviews: Counter,
        stop: &Stop,
    ) -> Result<Self, IdentityError> {
        let names = reach.iter().flat_map(Reach::names).collect();
        let rotation = Rotation::new(names, SystemTime::now())?;
        let server = Server::new(table, review, reviews, rotation.served())?;
        Ok(Self {
            table,
            reach,
            rotation,
            answering: tokio::spawn(server.run(listener, stop.clone())),
        })
    }

    /// How a definition that is about to be stored is pointed here.
    pub(crate) fn pointer(&self) -> Pointer {
        let authorities = self.rotation.authorities().into_iter();
        Pointer {
            table: self.table,
            reach: self.reach.clone(),
            authorities: authorities.map(str::to_owned).collect(),
        }
    }

    /// From now on the stored definition is kept pointed here, and the certificate fresh. What is
    /// returned is over when the last answer is given.
    pub(crate) fn keep(self, client: &Client) -> JoinHandle<()> {
        if let Some(reach) = self.reach {
            let keeper = Keeper::new(client, self.table, reach, self.rotation);
            tokio::spawn(keeper.run());
        } else {
            tracing::warn!(
                "not in a pod, and no --webhook-url: the apiserver is not told of the webhook; {}",
                without(self.table)
            );
        }
        self.answering
    }
}

/// What points a definition to a webhook.
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    table: &'static RoleTable,
    reach: Option<Reach>,
    authorities: Vec<String>,
}

impl Pointer {
    /// Points a definition there that is about to be stored.
    pub(crate) fn inject(&self, crd: &mut CustomResourceDefinition) {
        if let Some(reach) = &self.reach
            && conversion::lacks(crd, self.table).is_empty()
        {
            let authorities: Vec<_> = self.authorities.iter().map(String::as_str).collect();
            let present = crd.spec.conversion.as_ref();
            crd.spec.conversion = Some(conversion::wanted(present, reach, &authorities));
        }
    }
}

/// What is said of a cluster in which the older versions do not work.
fn without(table: &'static RoleTable) -> String {
    let older: Vec<_> = older(table).collect();
    format!("v1 works, {} may not", older.join(" and "))
}
