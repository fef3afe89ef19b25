//! Reads the sentences and the tests' remarks, and writes the list of both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Where tests are, from the root of the repository.
const PLACES: [&str; 8] = [
    "mxjob-core/src",
    "mxjob-core/tests",
    "mxjob-derive/tests",
    "mxjob-operator/src",
    "mxjob-operator/tests",
    "e2e/corpus",
    "e2e/src",
    "e2e/tests",
];

/// Which test or manifest shows a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// The file, from the root of the repository.
    pub file: String,
    /// The function, for a file that has several.
    pub name: Option<String>,
}

/// The contract with its tests.
#[derive(Clone, Debug, Default)]
pub struct Contract {
    /// Number and text of each sentence, in the order of the page.
    pub sentences: Vec<(String, String)>,
    /// The tests by the number that they name.
    pub tests: BTreeMap<String, Vec<Test>>,
}

/// The folders whose files have a say.
pub fn places(root: &Path) -> impl Iterator<Item = PathBuf> {
    PLACES
        .map(|place| root.join(place))
        .into_iter()
        .filter(|place| place.is_dir())
}

/// Reads the page and every test of the repository at `root`.
///
/// # Errors
///
/// When a file cannot be read.
pub fn read(root: &Path) -> io::Result<Contract> {
    let page = fs::read_to_string(root.join("docs/contract.md"))?;
    let mut contract = Contract {
        sentences: sentences(&page),
        tests: BTreeMap::new(),
    };
    for place in places(root) {
        visit(&place, &mut |path| {
            let file = path.strip_prefix(root).unwrap_or(path);
            let file = file.to_string_lossy().replace('\\', "/");
            for (number, test) in remarks(&file, &fs::read_to_string(path)?) {
                contract.tests.entry(number).or_default().push(test);
            }
            Ok(())
        })?;
    }
    for tests in contract.tests.values_mut() {
        tests.sort();
    }
    Ok(contract)
}

impl Contract {
    /// Sentences that no test shows.
    pub fn unshown(&self) -> impl Iterator<Item = &str> {
        let numbers = self.sentences.iter().map(|(number, _)| number.as_str());
        numbers.filter(|number| !self.tests.contains_key(*number))
    }

    /// Numbers that tests name and the page does not have.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, &Test)> {
        let known = |number: &str| self.sentences.iter().any(|(one, _)| one == number);
        let unknown = self.tests.iter().filter(move |(one, _)| !known(one));
        unknown.flat_map(|(number, tests)| tests.iter().map(|test| (number.as_str(), test)))
    }

    /// The page with the list.
    #[must_use]
    pub fn list(&self) -> String {
        let mut page = String::from(
            "# What shows each sentence of the contract\n\n\
             Made by the build from the tests' own remarks (`// contract: 7.2.1`): do not edit.\n\
             The sentences are in [`contract.md`](contract.md).\n\n\
             | sentence | shown by |\n|---|---|\n",
        );
        for (number, _) in &self.sentences {
            let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
            for test in self.tests.get(number).into_iter().flatten() {
                let name = test.name.as_deref();
                match files.last_mut() {
                    Some((file, names)) if *file == test.file => names.extend(name),
                    _ => files.push((&test.file, name.into_iter().collect())),
                }
            }
            let shown: Vec<String> = files
                .iter()
                .map(|(file, names)| cell(file, names))
                .collect();
            // Writing to a text cannot fail.
            let _ = writeln!(page, "| {number} | {} |", shown.join("<br>"));
        }
        page
    }
}

fn cell(file: &str, names: &[&str]) -> String {
    let link = format!("[{file}](../{file})");
    if names.is_empty() {
        return link;
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{link}: {}", names.join(", "))
}

fn sentences(page: &str) -> Vec<(String, String)> {
    let items = page.lines().filter_map(|line| line.strip_prefix("- **"));
    items
        .filter_map(|item| item.split_once("** "))
        .map(|(number, text)| (number.to_owned(), text.to_owned()))
        .collect()
}

fn remarks(file: &str, text: &str) -> Vec<(String, Test)> {
    let mut remarks = Vec::new();
    let mut waiting = Vec::new();
    let mut shown = |numbers: Vec<String>, name: Option<&str>| {
        remarks.extend(numbers.into_iter().map(|number| {
            let (file, name) = (file.to_owned(), name.map(str::to_owned));
            (number, Test { file, name })
        }));
    };
    for line in text.lines().map(str::trim_start) {
        if let Some(numbers) = line.strip_prefix("# contract: ") {
            shown(split(numbers), None);
        } else if let Some(numbers) = line.strip_prefix("// contract: ") {
            waiting.extend(split(numbers));
        } else if let Some(name) = function(line) {
            shown(std::mem::take(&mut waiting), Some(name));
        }
    }
    remarks
}

fn split(numbers: &str) -> Vec<String> {
    let numbers = numbers.split(',').map(str::trim);
    numbers.map(str::to_owned).collect()
}

fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let (name, _) = line.strip_prefix("fn ")?.split_once('(')?;
    Some(name)
}

fn visit(place: &Path, file: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(place)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            visit(&path, file)?;
        } else if path
            .extension()
            .is_some_and(|end| end == "rs" || end == "yaml")
        {
            file(&path)?;
        }
    }
    Ok(())
}
