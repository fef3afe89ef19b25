//! Keeps `contract-tests.md` as the tests say.

#[path = "src/contract.rs"]
#[allow(dead_code, unreachable_pub, reason = "the library has the rest of it")]
mod contract;

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = Path::new("..");
    println!("cargo::rerun-if-changed=contract.md");
    println!("cargo::rerun-if-changed=contract-tests.md");
    println!("cargo::rerun-if-changed=src/contract.rs");
    for place in contract::places(root) {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    let list = contract::read(root)?.list();
    let target = Path::new("contract-tests.md");
    // An untouched file rebuilds nothing.
    if fs::read_to_string(target).is_ok_and(|old| old == list) {
        return Ok(());
    }
    fs::write(target, list)
}
