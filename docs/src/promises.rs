//! What the older operators promised and what was wrong with them, and the table of what became of
//! each.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use super::Page;
use super::contract::item;
use super::remarks::{About, Remarks, cell};

const SOURCE: &str = "docs/older-operators.md";

/// A promise or a defect.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Whether it is a promise or a defect.
    pub about: About,
    /// `P12` or `D7`.
    pub number: String,
    /// What it says.
    pub text: String,
    /// What of it holds here, if there is something to say.
    pub here: Option<String>,
    /// Why nothing is to be done about it.
    pub void: Option<String>,
    /// What is missing.
    pub not_yet: Option<String>,
}

impl Entry {
    /// Whether it is explained, by a test or by a reason.
    #[must_use]
    pub fn settled(&self, remarks: &Remarks) -> bool {
        let reason = self.void.is_some() || self.not_yet.is_some();
        reason || !remarks.of(self.about, &self.number).is_empty()
    }

    /// The cell that says what became of it.
    fn state(&self) -> String {
        let reason =
            |word: &str, why: &Option<String>| Some(format!("**{word}:** {}", why.as_ref()?));
        let said = [
            self.here.clone(),
            reason("void", &self.void),
            reason("not yet", &self.not_yet),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        said.join(" ")
    }
}

/// A part of the page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What it lists.
    pub entries: Vec<Entry>,
}

/// The parts of the page, in its order.
///
/// # Errors
///
/// When the page cannot be read, or a line of a list cannot be understood.
pub fn sections(root: &Path) -> io::Result<Vec<Section>> {
    let page = fs::read_to_string(root.join(SOURCE))?;
    let mut sections: Vec<Section> = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            let title = title.to_owned();
            let entries = Vec::new();
            sections.push(Section { title, entries });
        } else if let Some((number, text)) = item(line) {
            let section = sections.last_mut().ok_or_else(|| odd(line))?;
            section.entries.push(entry(number, text, line)?);
        } else if let Some(note) = line.strip_prefix("  - ") {
            let entry = sections.last_mut().and_then(|one| one.entries.last_mut());
            let place = match (entry, note.split_once(": ")) {
                (Some(entry), Some(("here", text))) => Some((&mut entry.here, text)),
                (Some(entry), Some(("void", text))) => Some((&mut entry.void, text)),
                (Some(entry), Some(("not yet", text))) => Some((&mut entry.not_yet, text)),
                _ => None,
            };
            let (place, text) = place.ok_or_else(|| odd(line))?;
            *place = Some(text.to_owned());
        }
    }
    Ok(sections)
}

fn entry(number: String, text: String, line: &str) -> io::Result<Entry> {
    let about = match number.chars().next() {
        Some('P') => About::Promise,
        Some('D') => About::Defect,
        _ => return Err(odd(line)),
    };
    Ok(Entry {
        about,
        number,
        text,
        here: None,
        void: None,
        not_yet: None,
    })
}

fn odd(line: &str) -> io::Error {
    io::Error::other(format!("{SOURCE}: not understood: {line}"))
}

/// How many there are in all, and of which kind.
fn counts<'a>(entries: impl Iterator<Item = &'a Entry>, remarks: &Remarks) -> [usize; 4] {
    let [mut all, mut shown, mut void, mut not_yet] = [0; 4];
    for entry in entries {
        all += 1;
        if entry.not_yet.is_some() {
            not_yet += 1;
        } else if entry.void.is_some() {
            void += 1;
        } else if entry.settled(remarks) {
            shown += 1;
        }
    }
    [all, shown, void, not_yet]
}

/// The page with the tables.
///
/// # Errors
///
/// When the page that it is made of cannot be read or understood.
pub fn page(root: &Path, remarks: &Remarks) -> io::Result<Page> {
    let sections = sections(root)?;
    let of = |about: About| {
        let all = sections.iter().flat_map(|one| &one.entries);
        counts(all.filter(move |one| one.about == about), remarks)
    };
    let [promises, kept, void, open] = of(About::Promise);
    let [defects, absent, idle, pending] = of(About::Defect);
    let mut text = format!(
        "# What became of the older operators' promises and defects\n\n\
         Made by the build from [`older-operators.md`](older-operators.md) and the tests' own remarks\n\
         (`// promise: P12`, `// defect: D7`): do not edit.\n\n\
         Of {promises} promises {kept} are kept, {void} void and {open} not yet kept as a whole. Of {defects} \
         defects {absent} are tested for, {idle} void and {pending} not yet tested for.\n",
    );
    for section in sections.iter().filter(|one| !one.entries.is_empty()) {
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n| | said | what of it holds here | shown by |\n|---|---|---|---|\n",
            section.title
        );
        for entry in &section.entries {
            let shown = cell(remarks.of(entry.about, &entry.number));
            let (number, said, state) = (&entry.number, &entry.text, entry.state());
            let _ = writeln!(text, "| {number} | {said} | {state} | {shown} |");
        }
    }
    Ok(Page {
        source: SOURCE,
        target: "docs/promises.md",
        text,
    })
}
