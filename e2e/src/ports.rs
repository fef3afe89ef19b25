//! Free loopback ports.

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// Below what Linux gives to outgoing connections (32768 and up): a port from there could
/// be taken as somebody's source address while a stopped server waits to be started again.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port that was free just now; whoever listens on it may still come second.
pub fn free() -> Result<u16> {
    let start = u16::from_le_bytes(random()?) % COUNT;
    (0..COUNT)
        .map(|step| FIRST + (start + step) % COUNT)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .context("no free port on 127.0.0.1 between 20000 and 30000")
}

/// Random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes)
}
