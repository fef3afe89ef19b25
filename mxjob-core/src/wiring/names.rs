//! Names of the objects of a job; of pods and services `<job>-<role lower-case>-<index>`.

use crate::job::Replica;
use crate::role::RoleTable;

/// Name of a replica's pod and service.
pub fn replica(table: &RoleTable, job: &str, replica: Replica) -> String {
    let role = table.role(replica.role).name.to_ascii_lowercase();
    format!("{job}-{role}-{}", replica.index)
}

/// Name of the ConfigMap with the layout of a large job.
pub fn config_map(job: &str) -> String {
    format!("{job}-cluster")
}

/// The replica that a name of a pod or service of `job` stands for.
pub fn parse(table: &RoleTable, job: &str, name: &str) -> Option<Replica> {
    let (role, digits) = name
        .strip_prefix(job)?
        .strip_prefix('-')?
        .rsplit_once('-')?;
    let index: u32 = digits.parse().ok()?;
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    let lower = !role.bytes().any(|byte| byte.is_ascii_uppercase());
    let role = table.find(role).filter(|_| canonical && lower)?;
    Some(Replica { role, index })
}

/// A replica as a person reads it: `worker-0`.
pub fn short(table: &RoleTable, replica: Replica) -> String {
    format!(
        "{}-{}",
        table.role(replica.role).name.to_ascii_lowercase(),
        replica.index
    )
}
