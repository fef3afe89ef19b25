// The derive needs no prelude, and no name that the user has given to something else.
#![no_implicit_prelude]
#![allow(dead_code, non_camel_case_types)]

struct Option;
struct Some;
struct None;
struct str;
struct RoleTable;
mod core {}
mod std {}

#[derive(
    ::core::clone::Clone,
    ::core::marker::Copy,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq,
    ::core::cmp::Eq,
    ::core::cmp::PartialOrd,
    ::core::cmp::Ord,
    ::core::hash::Hash,
    ::mxjob_core::ReplicaRole,
)]
#[roles(mode(Train, chief = [Worker], env(RANK = index)))]
pub enum Roles {
    #[role(mode = Train, replicas = 1..=2, restart = [Never])]
    Worker,
    #[role(mode = Train, replicas = 1.., default = 3)]
    Server,
}

fn main() {
    ::std::assert_eq!(::mxjob_core::ReplicaRole::name(Roles::Worker), "Worker");
}
