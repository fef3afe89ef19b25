// What is no enum.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub struct Roles;

#[derive(Clone, Copy, ReplicaRole)]
pub union Either {
    one: u8,
    other: i8,
}

impl std::fmt::Debug for Either {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

impl PartialEq for Either {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Either {}

impl PartialOrd for Either {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Either {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl std::hash::Hash for Either {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

fn main() {
    println!("{Roles} {} {:?}", Roles.name(), Either::TABLE);
}
