// Raw identifiers are written as they are and named without `r#`.
use mxjob_core::ReplicaRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
#[roles(mode(r#Train, chief = [r#try, Worker], env(FIRST = host(r#try))))]
#[allow(non_camel_case_types)]
pub enum r#enum {
    #[role(mode = Train, replicas = 1, requires = [r#Worker])]
    r#try,
    #[role(mode = r#Train, replicas = 1)]
    Worker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
pub enum Extended {
    #[role(extend)]
    Base(r#enum),
    #[role(mode = Train, mode_env = false, replicas = 1, requires = [Base::r#try], env(FIRST = host(Base::r#try)))]
    Own,
}

fn main() {
    let own = Extended::TABLE.role(Extended::Own.id());
    assert_eq!(own.requires, ["try"]);
    assert_eq!(own.env[0].source, mxjob_core::role::Source::Host("try"));
    assert_eq!(r#enum::r#try.to_string(), "try");
    assert_eq!(r#enum::parse("try"), Some(r#enum::r#try));
    assert_eq!(r#enum::TABLE.modes[0].chief, ["try", "Worker"]);
    assert_eq!(r#enum::TABLE.modes[0].name, "Train");
}
