//! One of several operators looks after the jobs; the others stand by.
//!
//! The lead is a Lease of the cluster ([`election`] says who may take it when). Who has it may send
//! requests until its term ends ([`gate`]), down to the last byte ([`wire`]). The crates that there
//! are for it trust the times that others have written, or leave what is under way to the caller.
//!
//! Who loses the lead ends, and is started again by the cluster: nothing that it knew, planned or
//! counted while it led can be of any effect then, and there is no second way into the lead to be
//! right about.
//!
//! What this cannot give: a server that has received a request may carry it out later than anybody
//! waits for. Between the end of a term and the first moment at which the lease can pass there is a
//! third of the lease for it. And a write that was late all the same meets names that are given once,
//! uids and versions: it is refused, or makes what the next look undoes.

mod clock;
mod election;
mod gate;
mod lease;
mod wire;

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use election::{Election, Holder, Pace, Step};
pub(super) use election::{LONGEST, Loss, SHORTEST};
pub(super) use gate::Gate;
use lease::{Place, Written};
pub(super) use wire::Connector;

/// How long the lease may take to be given back; the whole stop takes less than 5 s.
const FAREWELL: Duration = Duration::from_millis(700);

/// What is known of the election.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// Nothing yet.
    Unknown,
    /// Another one leads, or nobody.
    StandsBy,
    /// This one leads.
    Leads,
    /// It has led, and does no longer.
    Lost(Loss),
}

/// One operator's part in it.
#[derive(Debug)]
pub(super) struct Leadership {
    standing: watch::Receiver<Standing>,
    /// `None`: nobody else is asked.
    candidate: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// A name that no other operator has or ever had: that of the pod or machine, and a random part.
pub(super) fn identity(instance: &str) -> String {
    // A hasher's keys are random; this has to be another one, not a secret.
    let random = RandomState::new().hash_one(std::process::id());
    format!("{instance}_{random:016x}")
}

impl Leadership {
    /// Without an election: it leads from the start and for ever.
    pub(super) fn unopposed(gate: &Gate) -> Self {
        gate.open_until(Duration::MAX);
        let (_, standing) = watch::channel(Standing::Leads);
        Self {
            standing,
            candidate: None,
        }
    }

    /// Stands for election as `me`, in a task of its own; `gate` is open while it leads.
    pub(super) fn stand(
        client: Client,
        (namespace, name): (&str, &str),
        duration: Duration,
        me: String,
        gate: Gate,
    ) -> Self {
        let (sender, standing) = watch::channel(Standing::Unknown);
        let (release, released) = oneshot::channel();
        let pace = Pace { lease: duration };
        let candidate = Candidate {
            place: Place::new(client, namespace, name),
            election: Election::new(me.clone(), pace),
            me,
            pace,
            gate,
            standing: sender,
            leader: None,
            said: None,
        };
        let running = tokio::spawn(candidate.run(released));
        Self {
            standing,
            candidate: Some((release, running)),
        }
    }

    /// Whether it leads, or led last.
    pub(super) fn leads(&self) -> bool {
        *self.standing.borrow() == Standing::Leads
    }

    /// Waits until it is known whether the lead can be had at once.
    pub(super) async fn settles(&self) {
        self.reaches(|standing| *standing != Standing::Unknown)
            .await;
    }

    /// Waits until it leads.
    pub(super) async fn comes(&self) {
        self.reaches(|standing| *standing == Standing::Leads).await;
    }

    /// Waits until it has led and does no longer.
    pub(super) async fn ends(&self) -> Loss {
        let over = |standing: &Standing| matches!(standing, Standing::Lost(_));
        match self.reaches(over).await {
            Standing::Lost(loss) => loss,
            _ => Loss::Late,
        }
    }

    async fn reaches(&self, what: impl FnMut(&Standing) -> bool) -> Standing {
        let mut standing = self.standing.clone();
        let reached = standing.wait_for(what).await;
        match reached.map(|standing| standing.clone()) {
            Ok(standing) => standing,
            // The candidate is gone, and with it the lead.
            Err(_) if self.candidate.is_some() => Standing::Lost(Loss::Late),
            // Nobody else is asked: nothing is ever told.
            Err(_) => std::future::pending().await,
        }
    }

    /// The end, after the last write. `all_answered`: nothing is under way; else the lease is left to
    /// run out, for what the server does late is not to meet another leader.
    pub(super) async fn give_back(self, all_answered: bool) {
        let leads = self.leads();
        let Some((release, running)) = self.candidate else {
            return;
        };
        if leads && !all_answered {
            running.abort();
            tracing::warn!("requests without an answer: the lease is not given back, it runs out");
            return;
        }
        // One that stands by may have asked for it.
        let _ = release.send(());
        if tokio::time::timeout(FAREWELL, running).await.is_err() {
            tracing::warn!("the lease was not given back in time: it runs out");
        }
    }
}

/// Does what the election says.
struct Candidate {
    place: Place,
    election: Election,
    me: String,
    pace: Pace,
    gate: Gate,
    standing: watch::Sender<Standing>,
    /// Who was said to lead.
    leader: Option<Holder>,
    /// What was said last to be wrong, and has not become better since.
    said: Option<&'static str>,
}

impl Candidate {
    /// Until the lead is lost, or is to be given back.
    async fn run(mut self, mut released: oneshot::Receiver<()>) {
        loop {
            let step = self.election.next(clock::now());
            // Whose the lease is after a write only the answer says.
            let may_stop = !matches!(step, Step::Write(_));
            tokio::select! {
                biased;
                order = &mut released, if may_stop => {
                    if order.is_ok() {
                        self.release().await;
                    }
                    return;
                }
                goes_on = self.take(step) => if !goes_on {
                    return;
                },
            }
        }
    }

    /// Takes a step; whether others follow.
    async fn take(&mut self, step: Step) -> bool {
        match step {
            Step::Read => self.read().await,
            Step::Write(claim) => self.write(&claim).await,
            Step::Wait(until) => {
                tokio::time::sleep(until.saturating_sub(clock::now())).await;
            }
            Step::Lost(loss) => {
                self.gate.close();
                self.standing.send_replace(Standing::Lost(loss));
                return false;
            }
        }
        true
    }

    /// How long an answer is of any use.
    fn patience(&self) -> Duration {
        let left = self.election.until();
        let left = left.map(|until| until.saturating_sub(clock::now()));
        left.map_or(self.pace.patience(), |left| left.min(self.pace.patience()))
    }

    async fn read(&mut self) {
        let read = tokio::time::timeout(self.patience(), self.place.read()).await;
        match read {
            Ok(Ok(record)) => {
                self.election.saw(record, clock::now());
                self.reachable();
                self.tell();
            }
            failed => self.failed(failed.map(Result::err).ok().flatten()),
        }
    }

    async fn write(&mut self, claim: &election::Claim) {
        let sent = clock::now();
        let claimed = self.place.claim(&self.me, self.pace.lease, claim);
        match tokio::time::timeout(self.patience(), claimed).await {
            Ok(Ok(Written::Done(record))) => {
                self.election.wrote(sent, record, clock::now());
                self.reachable();
                self.lead();
            }
            Ok(Ok(Written::Conflict)) => self.election.conflicted(clock::now()),
            failed => self.failed(failed.map(Result::err).ok().flatten()),
        }
    }

    fn lead(&mut self) {
        let Some(until) = self.election.until() else {
            return;
        };
        self.gate.open_until(until);
        if *self.standing.borrow() != Standing::Leads {
            let (lease, me) = (&self.place.name, &self.me);
            tracing::info!(lease, identity = me, "this operator leads");
            self.standing.send_replace(Standing::Leads);
        }
    }

    /// Says who leads, when that is another one than before.
    fn tell(&mut self) {
        if self.election.until().is_some() {
            return;
        }
        let holder = self.election.record().map(|record| record.holder.clone());
        if holder != self.leader {
            if let Some(Holder::Named(holder)) = &holder {
                let lease = &self.place.name;
                tracing::info!(lease, holder, "another operator leads, this one stands by");
            }
            self.leader = holder;
        }
        self.standing.send_if_modified(|standing| {
            let is_news = *standing == Standing::Unknown;
            if is_news {
                *standing = Standing::StandsBy;
            }
            is_news
        });
    }

    /// Says it once, until it is over.
    fn failed(&mut self, error: Option<kube::Error>) {
        self.election.failed(clock::now());
        let (error, advice) = match error {
            Some(error) => self.place.complaint(&error),
            None => ("no answer in time".to_owned(), None),
        };
        let (namespace, lease) = (&self.place.namespace, &self.place.name);
        let what = match self.election.until() {
            Some(_) => "cannot renew the lease",
            None => "cannot be elected",
        };
        if self.said == Some(what) {
            tracing::debug!(namespace, lease, error, "{what}");
        } else if let Some(advice) = advice {
            tracing::error!(namespace, lease, error, "{what}: {advice}; trying again");
        } else {
            tracing::warn!(namespace, lease, error, "{what}, trying again");
        }
        self.said = Some(what);
    }

    fn reachable(&mut self) {
        if self.said.take().is_some() {
            tracing::info!(lease = self.place.name, "the lease can be reached again");
        }
    }

    async fn release(&mut self) {
        self.gate.close();
        while let Some(record) = self.election.record().cloned() {
            if record.holder != Holder::Named(self.me.clone()) {
                return;
            }
            match self.place.release(&self.me, &record).await {
                Ok(Written::Done(_)) => {
                    tracing::info!(lease = self.place.name, "the lease is given back");
                    return;
                }
                // A write whose answer was lost.
                Ok(Written::Conflict) => match self.place.read().await {
                    Ok(record) => self.election.saw(record, clock::now()),
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
