//! The conversion webhook: the apiserver has objects converted here between the versions of the
//! custom resource. Only role sets with older versions have one; `v1` works without.
//!
//! # Who trusts whom
//!
//! A certificate is signed by a CA that signs nothing else: its key is forgotten at once, so nothing
//! else ever will be. Behind one Service several operators answer (the leader and those that wait, the
//! old one and the new one of an update): they show the same certificate, which is kept in a Secret of
//! their namespace with its key and its CA. Who finds none there writes one; who cannot use that Secret
//! shows one of its own. Each puts the CAs of what is shown, of what is kept and of what is kept to be
//! shown next into the `caBundle` of the CustomResourceDefinition beside those that are there, and puts
//! them back when they are missing. CAs of certificates that nobody shows are of no use to anybody; the
//! newest [`MOST`](conversion::MOST) stay, the others make room.
//!
//! A certificate is renewed long before it ends: [`rotation`] says how. Open connections stay.

mod address;
mod conversion;
mod identity;
mod keeper;
mod rotation;
mod secret;
mod server;
#[cfg(test)]
mod tests;
mod told;
mod vault;

use std::time::{Duration, SystemTime};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use mxjob_core::RoleTable;
use mxjob_core::api::Version;
use prometheus_client::metrics::counter::Counter;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(crate) use address::{Reach, WebhookUrl};
pub(crate) use identity::IdentityError;
use keeper::Keeper;
use rotation::{Pace, Rotation};
use server::Server;
pub(crate) use vault::Place;
use vault::Vault;

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
pub(crate) struct Webhook {
    table: &'static RoleTable,
    /// How it is reached, and where its certificate is kept; `None`: nobody is told of it.
    known: Option<(Reach, Vault)>,
    rotation: Rotation,
}

/// What a webhook takes.
pub(crate) struct Settings {
    pub(crate) table: &'static RoleTable,
    pub(crate) reach: Option<Reach>,
    pub(crate) place: Place,
    pub(crate) lifetime: Duration,
    pub(crate) review: Review,
    /// Counts the answers.
    pub(crate) reviews: Counter,
}

impl Webhook {
    /// Answers until it is time to stop, in a task of its own, with a certificate for wherever it is
    /// reached: that of the other operators, if that can be had. The task is over at the end, and says
    /// whether all were answered in time.
    pub(crate) async fn start(
        settings: Settings,
        client: &Client,
        listener: TcpListener,
        stop: &Stop,
    ) -> Result<(Self, JoinHandle<bool>), IdentityError> {
        let Settings {
            table,
            reach,
            place,
            lifetime,
            review,
            reviews,
        } = settings;
        let names = reach.iter().flat_map(Reach::names).collect();
        let mut rotation = Rotation::new(names, Pace { lifetime });
        let mut known = reach.map(|reach| (reach, Vault::new(client, place)));
        if let Some((_, vault)) = &mut known {
            vault.open(&mut rotation).await?;
        } else {
            let now = (SystemTime::now(), Instant::now());
            rotation.step_alone(now)?;
            rotation.show(now);
        }
        let server = Server::new(table, review, reviews, rotation.served())?;
        let farewell = Reach::farewell(known.as_ref().map(|(reach, _)| reach));
        let answering = tokio::spawn(server.run(listener, stop.clone(), farewell));
        let webhook = Self {
            table,
            known,
            rotation,
        };
        Ok((webhook, answering))
    }

    /// How a definition that is about to be stored is pointed here.
    pub(crate) fn pointer(&self) -> Pointer {
        let authorities = self.rotation.authorities().into_iter();
        Pointer {
            table: self.table,
            reach: self.known.as_ref().map(|(reach, _)| reach.clone()),
            authorities: authorities.map(str::to_owned).collect(),
        }
    }

    /// From now on the stored definition is kept pointed here, and the certificate fresh.
    pub(crate) fn keep(self, client: &Client) {
        if let Some((reach, vault)) = self.known {
            let keeper = Keeper::new(client, self.table, reach, self.rotation, vault);
            tokio::spawn(keeper.run());
        } else {
            tracing::warn!(
                "not in a pod, and no --webhook-url: the apiserver is not told of the webhook; {}",
                without(self.table)
            );
        }
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
