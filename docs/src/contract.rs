//! The sentences of the contract, and the list of what shows each.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use super::Page;
use super::remarks::{About, Remarks, cell};

const SOURCE: &str = "docs/contract.md";

/// Number and text of each sentence, in the order of the page.
///
/// # Errors
///
/// When the page cannot be read.
pub fn sentences(root: &Path) -> io::Result<Vec<(String, String)>> {
    let page = fs::read_to_string(root.join(SOURCE))?;
    Ok(page.lines().filter_map(item).collect())
}

/// What a line of a list says of which number.
pub(super) fn item(line: &str) -> Option<(String, String)> {
    let (number, text) = line.strip_prefix("- **")?.split_once("** ")?;
    Some((number.to_owned(), text.to_owned()))
}

/// The page with the list.
///
/// # Errors
///
/// When the contract cannot be read.
pub fn page(root: &Path, remarks: &Remarks) -> io::Result<Page> {
    let mut text = String::from(
        "# What shows each sentence of the contract\n\n\
         Made by the build from the tests' own remarks (`// contract: 7.2.1`): do not edit.\n\
         The sentences are in [`contract.md`](contract.md).\n\n\
         | sentence | shown by |\n|---|---|\n",
    );
    for (number, _) in sentences(root)? {
        let shown = cell(remarks.of(About::Contract, &number));
        // Writing to a text cannot fail.
        let _ = writeln!(text, "| {number} | {shown} |");
    }
    Ok(Page {
        source: SOURCE,
        target: "docs/contract-tests.md",
        text,
    })
}
