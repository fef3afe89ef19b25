//! Sentences of two pages and the tests that show them: those of `contract.md`, and what
//! `older-operators.md` says of the older operators' promises and defects.
//!
//! A test says what it shows in a comment above it, a manifest in a comment of its own:
//! `// contract: 7.2.1, 7.2.3`, `// promise: P12`, `// defect: D7`.

pub mod contract;
pub mod promises;
pub mod remarks;

use std::io;
use std::path::Path;

/// A page that the build writes.
#[derive(Clone, Debug)]
pub struct Page {
    /// The page whose sentences it lists, from the root of the repository.
    pub source: &'static str,
    /// Where it is, from the root of the repository.
    pub target: &'static str,
    /// What it says.
    pub text: String,
}

/// All pages that the build writes.
///
/// # Errors
///
/// When a file cannot be read.
pub fn pages(root: &Path) -> io::Result<[Page; 2]> {
    let remarks = remarks::read(root)?;
    Ok([
        contract::page(root, &remarks)?,
        promises::page(root, &remarks)?,
    ])
}
