//! Keeps the pages that are made of the tests' remarks as the tests say.

#[path = "src/lib.rs"]
#[allow(dead_code, unreachable_pub, reason = "the library has the rest of it")]
mod docs;

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = Path::new("..");
    println!("cargo::rerun-if-changed=src");
    for place in docs::remarks::places(root) {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    for page in docs::pages(root)? {
        let target = root.join(page.target);
        println!(
            "cargo::rerun-if-changed={}",
            root.join(page.source).display()
        );
        println!("cargo::rerun-if-changed={}", target.display());
        // An untouched file rebuilds nothing.
        if fs::read_to_string(&target).is_ok_and(|old| old == page.text) {
            continue;
        }
        fs::write(target, page.text)?;
    }
    Ok(())
}
