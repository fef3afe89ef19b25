//! Reads what the tests say they show.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Where tests are, from the root of the repository.
const PLACES: [&str; 8] = [
    "docs/tests",
    "mxjob-core/src",
    "mxjob-core/tests",
    "mxjob-operator/src",
    "mxjob-operator/tests",
    "e2e/corpus",
    "e2e/src",
    "e2e/tests",
];

/// What a remark is about; its word is the one before the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// A sentence of the contract.
    Contract,
    /// What an older operator promised.
    Promise,
    /// What was wrong with an older operator.
    Defect,
}

impl About {
    const ALL: [(Self, &str); 3] = [
        (Self::Contract, "contract: "),
        (Self::Promise, "promise: "),
        (Self::Defect, "defect: "),
    ];
}

/// Which test or manifest shows a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// The file, from the root of the repository.
    pub file: String,
    /// The function, for a file that has several.
    pub name: Option<String>,
}

/// The tests by what they name.
#[derive(Clone, Debug, Default)]
pub struct Remarks(BTreeMap<(About, String), Vec<Test>>);

impl Remarks {
    /// The tests that show a sentence.
    #[must_use]
    pub fn of(&self, about: About, number: &str) -> &[Test] {
        let tests = self.0.get(&(about, number.to_owned()));
        tests.map_or(&[], Vec::as_slice)
    }

    /// What tests name and `known` does not have.
    pub fn unknown<'a>(
        &'a self,
        about: About,
        known: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a str, &'a Test)> {
        let all = self.0.iter();
        let unknown = all.filter(move |((one, number), _)| *one == about && !known(number));
        unknown.flat_map(|((_, number), tests)| tests.iter().map(|test| (number.as_str(), test)))
    }
}

/// The folders whose files have a say.
pub fn places(root: &Path) -> impl Iterator<Item = PathBuf> {
    PLACES
        .map(|place| root.join(place))
        .into_iter()
        .filter(|place| place.is_dir())
}

/// Reads every test of the repository at `root`.
///
/// # Errors
///
/// When a file cannot be read.
pub fn read(root: &Path) -> io::Result<Remarks> {
    let mut all = Remarks::default();
    for place in places(root) {
        visit(&place, &mut |path| {
            let file = path.strip_prefix(root).unwrap_or(path);
            let file = file.to_string_lossy().replace('\\', "/");
            for (what, test) in remarks(&file, &fs::read_to_string(path)?) {
                all.0.entry(what).or_default().push(test);
            }
            Ok(())
        })?;
    }
    for tests in all.0.values_mut() {
        tests.sort();
    }
    Ok(all)
}

/// The tests as a cell of a table has them.
#[must_use]
pub fn cell(tests: &[Test]) -> String {
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for test in tests {
        let name = test.name.as_deref();
        match files.last_mut() {
            Some((file, names)) if *file == test.file => names.extend(name),
            _ => files.push((&test.file, name.into_iter().collect())),
        }
    }
    let shown: Vec<String> = files
        .iter()
        .map(|(file, names)| of_file(file, names))
        .collect();
    shown.join("<br>")
}

fn of_file(file: &str, names: &[&str]) -> String {
    let link = format!("[{file}](../{file})");
    if names.is_empty() {
        return link;
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{link}: {}", names.join(", "))
}

fn remarks(file: &str, text: &str) -> Vec<((About, String), Test)> {
    let mut remarks = Vec::new();
    let (mut waiting, mut is_test) = (Vec::new(), false);
    let mut shown = |what: Vec<(About, String)>, name: Option<&str>| {
        remarks.extend(what.into_iter().map(|what| {
            let (file, name) = (file.to_owned(), name.map(str::to_owned));
            (what, Test { file, name })
        }));
    };
    for line in text.lines().map(str::trim_start) {
        if let Some(what) = line.strip_prefix("# ").and_then(remark) {
            shown(what, None);
        } else if let Some(what) = line.strip_prefix("// ").and_then(remark) {
            waiting.extend(what);
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(name) = function(line) {
            let what = std::mem::take(&mut waiting);
            shown(if is_test { what } else { astray(what) }, Some(name));
            is_test = false;
        }
    }
    shown(astray(waiting), None);
    remarks
}

/// Remarks that stand before something that is no test: no sentence is called so.
fn astray(what: Vec<(About, String)>) -> Vec<(About, String)> {
    let named = |(about, number)| (about, format!("{number} (before no test)"));
    what.into_iter().map(named).collect()
}

fn remark(line: &str) -> Option<Vec<(About, String)>> {
    let mut all = About::ALL.into_iter();
    let (about, numbers) = all.find_map(|(about, word)| Some((about, line.strip_prefix(word)?)))?;
    let numbers = numbers.split(',').map(str::trim);
    Some(numbers.map(|one| (about, one.to_owned())).collect())
}

fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
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
