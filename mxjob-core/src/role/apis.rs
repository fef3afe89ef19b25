//! The APIs of a role set: its own, and those in other groups that its jobs had before.

use std::iter;
use std::marker::PhantomData;

use super::{Crd, Port, ReplicaRole, RoleTable};

/// The APIs that jobs of the role set `R` are read at, as role sets with other names: its own first,
/// then those of the older groups, which the operator serves when it is told to.
pub fn apis<R: ReplicaRole>() -> impl Iterator<Item = &'static RoleTable> {
    let has_older = R::TABLE.crd == Crd::MXJOB;
    let older = Tables::<R>::OLDER.iter().filter(move |_| has_older);
    iter::once(R::TABLE).chain(older.filter(|table| table.list_form().is_some()))
}

/// An API in a group of its own.
#[derive(Clone, Copy, Debug)]
struct Older {
    crd: Crd,
    /// The port that a replica listens on unless its job says otherwise.
    port: u16,
}

/// Those that there were before this project's.
const OLDER: [Older; 2] = [
    Older {
        crd: Crd::FIORAVANZO,
        port: 9000,
    },
    Older {
        crd: Crd::MLKUBE,
        port: 9091,
    },
];

struct Tables<R>(PhantomData<R>);

impl<R: ReplicaRole> Tables<R> {
    const OLDER: &'static [RoleTable] = &tables(R::TABLE);
}

const fn tables(own: &RoleTable) -> [RoleTable; OLDER.len()] {
    let mut tables = [*own; OLDER.len()];
    let mut rest = (tables.as_mut_slice(), OLDER.as_slice());
    while let ([table, tables @ ..], [older, more @ ..]) = rest {
        table.crd = older.crd;
        table.port = Port::new(own.port.name, older.port);
        rest = (tables, more);
    }
    tables
}
