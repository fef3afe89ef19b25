//! The lead passes under load, in every manner: no two operators act at once.
//!
//! Five switches by default, of which each is of another manner; more by `MXJOB_SWITCHES=50`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use e2e::deadline::until;
use e2e::proxy::{Fault, Proxy, Rule};
use jiff::Timestamp;
use kube::api::ListParams;
use serde_json::Value;

use crate::bench::{Bench, Operator, PATIENCE, training};

/// Of each job; as many services come with them.
const PODS: usize = 201;
/// Longer than a lease.
const LONG: Duration = Duration::from_secs(20);

/// How a leader ends.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// It is told to stop.
    Terminated,
    /// It is killed.
    Killed,
    /// It is stopped for longer than the lease, and goes on.
    Suspended,
    /// Its connections break, and no new ones are made.
    CutOff,
    /// Everything else of it gets through, its renewals do not.
    Unrenewed,
}

const MANNERS: [Manner; 5] = [
    Manner::Terminated,
    Manner::Killed,
    Manner::Suspended,
    Manner::CutOff,
    Manner::Unrenewed,
];

/// What one says that has lost the lease.
const LOST: &str = "this operator has lost the lease";

/// An operator and its way to the server.
struct Rival {
    operator: Operator,
    proxy: Proxy,
}

impl Rival {
    async fn start(plane: &ControlPlane, bench: &Bench) -> Result<Self> {
        let proxy = Proxy::start(plane).await?;
        let operator = Operator::start_rival(&proxy.kubeconfig(), &bench.namespace, &[])?;
        Ok(Self { operator, proxy })
    }

    /// Waits until it leads and all pods of the job are there. Where it loses the lease by itself, on a
    /// machine with too much to do, it is started again, as a kubelet would.
    async fn makes_all(&mut self, bench: &Bench, job: &str) -> Result<()> {
        loop {
            let operator = &self.operator;
            let all = async {
                operator.says("this operator leads").await?;
                pods(bench, job, PODS).await
            };
            tokio::select! {
                all = all => return all,
                Ok(()) = operator.says(LOST) => {}
            }
            self.loses().await?;
            self.operator = Operator::start_rival(&self.proxy.kubeconfig(), &bench.namespace, &[])?;
        }
    }

    /// Waits for its end, which is that of one that has lost the lease.
    async fn loses(&mut self) -> Result<()> {
        let status = self.operator.end(PATIENCE).await?;
        let log = self.operator.log()?;
        ensure!(status.code() == Some(1), "{status}: {log}");
        ensure!(log.contains(LOST), "{log}");
        Ok(())
    }
}

/// A write as the server has seen it.
#[derive(Debug)]
struct Write {
    who: String,
    verb: String,
    resource: String,
    name: String,
    code: u64,
    received: Timestamp,
}

impl Write {
    /// `None`: it is none, or not an operator's.
    fn of(event: &Value) -> Result<Option<Self>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verb = text(&event["verb"]);
        let agent = text(&event["userAgent"]);
        let who = agent
            .strip_prefix("mxjob/")
            .and_then(|agent| Some(agent.split_once('(')?.1.trim_end_matches(')').to_owned()));
        let object = &event["objectRef"];
        let Some(who) = who.filter(|_| !["get", "list", "watch"].contains(&verb.as_str())) else {
            return Ok(None);
        };
        Ok(Some(Self {
            who,
            verb,
            resource: text(&object["resource"]),
            name: text(&object["name"]),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            received: text(&event["requestReceivedTimestamp"]).parse()?,
        }))
    }

    fn is_of_the_lease(&self) -> bool {
        self.resource == "leases"
    }

    fn is_done(&self) -> bool {
        self.code < 300
    }
}

/// All writes of operators, in the order in which the server has received them.
fn all_writes(bench: &Bench, plane: &ControlPlane) -> Result<Vec<Write>> {
    let events = plane.audit_log(&bench.namespace)?;
    let writes = events.iter().map(Write::of);
    let mut writes: Vec<_> = writes
        .filter_map(Result::transpose)
        .collect::<Result<_>>()?;
    writes.sort_by_key(|write| write.received);
    Ok(writes)
}

/// Who has led, in turn, with the first write of each over the lease.
fn reigns(writes: &[Write]) -> Vec<(&str, Timestamp)> {
    let mut reigns: Vec<(&str, Timestamp)> = Vec::new();
    let leases = writes.iter().filter(|write| write.is_of_the_lease());
    for write in leases.filter(|write| write.is_done()) {
        if reigns.iter().all(|(who, _)| *who != write.who) {
            reigns.push((&write.who, write.received));
        }
    }
    reigns
}

/// Every write is of who leads at that time; nothing is made twice, nothing is deleted.
fn judge(writes: &[Write], jobs: usize) -> Result<()> {
    let reigns = reigns(writes);
    let ends = reigns.iter().skip(1).map(|(_, next)| Some(*next));
    let ends: Vec<_> = ends.chain([None]).collect();
    let mut made: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for write in writes {
        let reign = reigns.iter().position(|(who, _)| *who == write.who);
        if write.is_of_the_lease() {
            continue;
        }
        let reign = reign.with_context(|| format!("it never led: {write:?}"))?;
        let since = reigns[reign].1;
        ensure!(since <= write.received, "before it led: {write:?}");
        if let Some(end) = ends[reign] {
            ensure!(
                write.received < end,
                "after {end}, when another one leads: {write:?}"
            );
        }
        ensure!(write.verb != "delete", "{write:?}");
        if write.verb == "create" && write.is_done() {
            let times = made.entry((&write.resource, &write.name)).or_default();
            *times += 1;
            ensure!(*times == 1, "made twice: {write:?}");
        }
    }
    let pods = made.keys().filter(|(resource, _)| *resource == "pods");
    // Of what is under way when its sender goes the log says that nobody took the answer.
    let known = pods.count();
    ensure!((1..=jobs * PODS).contains(&known), "{known} of {jobs} jobs");
    Ok(())
}

/// Waits until so many pods of the job are there.
async fn pods(bench: &Bench, job: &str, wanted: usize) -> Result<()> {
    let of_job = ListParams::default().labels(&format!("training.kubeflow.org/job-name={job}"));
    until(&format!("{wanted} pods of {job}"), PATIENCE, || async {
        let found = bench.pods.list_metadata(&of_job).await?.items.len();
        Ok(if found >= wanted {
            e2e::deadline::Seen::Done(())
        } else {
            e2e::deadline::Seen::NotYet(found.to_string())
        })
    })
    .await
}

/// Ends a leader in that manner, in the middle of a start; the other goes on. When it ended.
async fn switch(
    bench: &Bench,
    job: &str,
    manner: Manner,
    mut leader: Rival,
    standby: &mut Rival,
) -> Result<Timestamp> {
    let lost = tokio::select! {
        some = pods(bench, job, 5) => some.map(|()| false)?,
        Ok(()) = leader.operator.says(LOST) => true,
    };
    let blow = Timestamp::now();
    if lost {
        // By itself, on a machine with too much to do: a switch like others.
        standby.makes_all(bench, job).await?;
        leader.loses().await?;
        return Ok(blow);
    }
    match manner {
        Manner::Terminated => {
            let status = leader.operator.terminate(PATIENCE).await?;
            ensure!(status.success(), "{status}");
            // It may have been all done by then: the next one leads before there is another job.
            standby.makes_all(bench, job).await?;
            return Ok(blow);
        }
        Manner::Killed => {
            leader.operator.kill()?;
            standby.makes_all(bench, job).await?;
            return Ok(blow);
        }
        Manner::Suspended => leader.operator.signal("-STOP")?,
        Manner::CutOff => leader.proxy.leave(),
        Manner::Unrenewed => {
            let late = Rule::on("patch", "leases").fault(Fault::Delay(LONG));
            leader.proxy.add(late);
        }
    }
    standby.makes_all(bench, job).await?;
    leader.operator.signal("-CONT")?;
    leader.loses().await?;
    Ok(blow)
}

/// Seconds from then to the first write of that operator, other than of the lease; `None`: it has found
/// nothing to do yet.
fn first_write(writes: &[Write], who: &str, since: Timestamp) -> Option<f64> {
    let mut theirs = writes
        .iter()
        .filter(|write| write.who == who && !write.is_of_the_lease());
    let first = theirs.next()?;
    Some(first.received.duration_since(since).as_secs_f64())
}

// contract: 11.17, 11.18
// promise: P91
#[tokio::test]
async fn the_lead_passes_under_load_and_no_two_act_at_once() -> Result<()> {
    let switches = std::env::var("MXJOB_SWITCHES").ok();
    let switches: usize = switches.map_or(Ok(MANNERS.len()), |text| text.parse())?;
    let (bench, plane) = Bench::own("switches").await?;
    let mut leader = Rival::start(&plane, &bench).await?;
    leader.operator.says("this operator leads").await?;
    for (place, manner) in MANNERS.into_iter().cycle().take(switches).enumerate() {
        let mut standby = Rival::start(&plane, &bench).await?;
        let stands = tokio::select! {
            stands = standby.operator.says("caches are complete, standing by") => stands,
            // The leader has lost the lease by itself since.
            leads = standby.operator.says("this operator leads") => leads,
        };
        stands.with_context(|| {
            let log = leader.operator.log().unwrap_or_default();
            format!("before switch {place}; the leader's log: {log}")
        })?;
        let job = format!("job-{place}");
        let workers = u32::try_from(PODS)? - 1;
        bench.create(&training(&job, 0, workers)).await?;
        let passed = switch(&bench, &job, manner, leader, &mut standby).await;
        let ended = passed.with_context(|| {
            let log = standby.operator.log().unwrap_or_default();
            format!("switch {place}, {manner:?}; the log of who should lead: {log}")
        })?;
        let writes = all_writes(&bench, &plane)?;
        let judged = judge(&writes, place + 1);
        judged.with_context(|| format!("switch {place}, {manner:?}"))?;
        let next = standby.operator.identity().await?;
        if let Some(wait) = first_write(&writes, &next, ended) {
            println!("{manner:?}: the next one's first write came after {wait:.2} s");
        }
        leader = standby;
    }
    let writes = all_writes(&bench, &plane)?;
    let led = reigns(&writes).len();
    ensure!(led > switches, "{led} have led in {switches} switches");
    let met = writes.iter().filter(|write| write.code == 409);
    let met = met.filter(|write| !write.is_of_the_lease()).count();
    println!(
        "{switches} switches, {} writes, each by who led; {met} met what another had written",
        writes.len()
    );
    Ok(())
}
