//! Names of the objects of a job; of pods and services `<job>-<role lower-case>-<index>`, in a job
//! that has a runtime id `<job>-<role lower-case>-<runtime id>-<index>`. An older operator cut the
//! job's name there, and its pods have five random characters more.

use crate::job::{Job, Replica};
use crate::role::RoleTable;

/// Characters that older operators left of a job's name.
const CUT: usize = 40;
/// Random characters at the end of the names of their pods.
const RANDOM: usize = 5;

/// Name of a replica's pod and service.
pub fn replica(job: &Job, replica: Replica) -> String {
    let name = &job.meta.name;
    let role = job.table.role(replica.role).name.to_ascii_lowercase();
    match &job.meta.run {
        Some(run) => format!("{name}-{role}-{run}-{}", replica.index),
        None => format!("{name}-{role}-{}", replica.index),
    }
}

/// Name of the ConfigMap with the layout of a large job. One of an API of its own has the runtime id
/// in it: a job of another may have the same name.
pub fn config_map(job: &Job) -> String {
    let name = &job.meta.name;
    match job
        .meta
        .run
        .as_ref()
        .filter(|_| job.table.crd.alone.is_some())
    {
        Some(run) => format!("{name}-{run}-cluster"),
        None => format!("{name}-cluster"),
    }
}

/// The replica that a name of a pod or service of `job` stands for.
pub fn parse(job: &Job, name: &str) -> Option<Replica> {
    let (replica, run) = parts(job.table, &job.meta.name, name)?;
    (run == job.meta.run.as_deref()).then_some(replica)
}

/// The replica that the name stands for in a job of which only the name is known, and the runtime id
/// that the job must have.
pub fn parts<'a>(
    table: &RoleTable,
    job: &str,
    name: &'a str,
) -> Option<(Replica, Option<&'a str>)> {
    let (front, digits) = name
        .strip_prefix(job)?
        .strip_prefix('-')?
        .rsplit_once('-')?;
    let (role, run) = match front.split_once('-') {
        Some((role, run)) => (role, Some(run)),
        None => (front, None),
    };
    let index: u32 = digits.parse().ok()?;
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    let lower = !role.bytes().any(|byte| byte.is_ascii_uppercase());
    let role = table.find(role).filter(|_| canonical && lower)?;
    let is_id = run.is_none_or(|run| !run.is_empty() && !run.contains('-'));
    is_id.then_some((Replica { role, index }, run))
}

/// The replica that a pod of that name is, whoever has made it, as [`parts`] says.
pub fn of_pod<'a>(
    table: &RoleTable,
    job: &str,
    name: &'a str,
) -> Option<(Replica, Option<&'a str>)> {
    parts(table, job, name).or_else(|| of_older_pod(table, job, name))
}

/// The same of a name that an older operator gave.
pub(crate) fn of_older_pod<'a>(
    table: &RoleTable,
    job: &str,
    name: &'a str,
) -> Option<(Replica, Option<&'a str>)> {
    table.mark()?;
    let (name, random) = name.rsplit_once('-')?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_random = random.len() == RANDOM && random.bytes().all(plain);
    let parts = parts(table, cut(job), name).filter(|_| is_random);
    parts.filter(|(_, run)| run.is_some())
}

/// The replica that a service of `job` stands for, also one whose name an older operator has cut.
pub fn of_service(job: &Job, name: &str) -> Option<Replica> {
    parse(job, name).or_else(|| {
        job.table.mark()?;
        let (replica, run) = parts(job.table, cut(&job.meta.name), name)?;
        (run.is_some() && run == job.meta.run.as_deref()).then_some(replica)
    })
}

fn cut(job: &str) -> &str {
    job.get(..CUT).unwrap_or(job)
}

/// The name of the job that a replica's object of that name is of, in an API whose jobs all have a
/// runtime id.
pub fn job<'a>(table: &RoleTable, name: &'a str) -> Option<&'a str> {
    let (front, _) = name.rsplit_once('-')?;
    let (front, _) = front.rsplit_once('-')?;
    let (job, _) = front.rsplit_once('-')?;
    parts(table, job, name).map(|_| job)
}

/// A replica as a person reads it: `worker-0`.
pub fn short(table: &RoleTable, replica: Replica) -> String {
    format!(
        "{}-{}",
        table.role(replica.role).name.to_ascii_lowercase(),
        replica.index
    )
}
