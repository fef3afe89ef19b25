//! Free ports of this machine, one for each replica.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

use mxjob_core::job::Replica;
use rustix::net::{self, AddressFamily, SocketType};

/// Ports where nobody listens, one for each replica.
///
/// They lie below the range from which the system takes ports for outgoing connections. In that
/// range a replica's port could be taken in the second that Python needs to start, and a client that
/// tries again and again to reach a port nobody listens on yet can end up connected to itself.
pub(super) fn free(replicas: impl Iterator<Item = Replica>) -> Option<BTreeMap<Replica, u16>> {
    let range = range(
        std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
            .ok()
            .as_deref(),
    );
    let offset = usize::try_from(std::process::id())
        .unwrap_or(0)
        .wrapping_mul(7919)
        % range.len().max(1);
    let mut ports = range
        .clone()
        .cycle()
        .skip(offset)
        .take(range.len())
        .filter(|port| is_free(*port));
    replicas
        .map(|replica| Some((replica, ports.next()?)))
        .collect()
}

/// True when a program on this machine could listen on the port now. It is bound but never listened
/// on: a replica that is looking for another one must not find this process.
pub(super) fn is_free(port: u16) -> bool {
    [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED]
        .iter()
        .all(|address| binds(SocketAddrV4::new(*address, port)).is_ok())
}

fn binds(address: SocketAddrV4) -> rustix::io::Result<()> {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    // As servers do: a connection that has just ended does not count.
    net::sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &address)
}

/// The ports from 10000 up to the system's own, or where those leave no room, above 10000 all.
fn range(system: Option<&str>) -> Range<u16> {
    let first = system
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(32768);
    if first >= 12_000 {
        10_000..first
    } else {
        10_000..u16::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mxjob_core::RoleId;

    #[test]
    fn stays_below_the_systems_own() {
        assert_eq!(range(Some("32768\t60999\n")), 10_000..32768);
        assert_eq!(range(Some("1024\t65535\n")), 10_000..u16::MAX);
        assert_eq!(range(None), 10_000..32768);
    }

    #[test]
    fn gives_each_replica_its_own() {
        let replicas = (0..50).map(|index| Replica {
            role: RoleId::new(0),
            index,
        });
        let ports = free(replicas).unwrap();
        let distinct: std::collections::BTreeSet<_> = ports.values().collect();
        assert_eq!((ports.len(), distinct.len()), (50, 50));
        assert!(ports.values().all(|port| is_free(*port)));
    }
}
