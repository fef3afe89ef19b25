//! What was found in manifests, and how it is printed.

use console::{Style, Term};
use mxjob_core::problem::{Problem, Severity};
use serde::Serialize;

use super::document::Position;

/// A problem and its place.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// The file.
    pub(crate) file: String,
    /// Number of the document in the file, from 1; 0: none can be told apart.
    pub(crate) document: usize,
    /// Line, from 1; 0: unknown.
    pub(crate) line: u64,
    /// Column, from 1; 0: unknown.
    pub(crate) column: u64,
    /// What is wrong.
    #[serde(flatten)]
    pub(crate) problem: Problem,
}

impl Finding {
    /// A problem at a place of a file.
    pub(crate) fn new(file: &str, document: usize, position: Position, problem: Problem) -> Self {
        let Position { line, column } = position;
        Self {
            file: file.to_owned(),
            document,
            line,
            column,
            problem,
        }
    }

    fn place(&self) -> (&str, u64, u64) {
        (&self.file, self.line, self.column)
    }

    /// The same about the same field; asked about findings of one place.
    fn repeats(&self, other: &Self) -> bool {
        let field = |one: &Self| one.problem.path.rsplit('.').next().map(str::to_owned);
        self.problem.message == other.problem.message && field(self) == field(other)
    }

    fn text(&self, paint: Paint) -> String {
        let (word, style) = match self.problem.severity {
            Severity::Error => ("error", Style::new().red().bold()),
            Severity::Warning => ("warning", Style::new().yellow().bold()),
        };
        let place = if self.line == 0 {
            String::new()
        } else {
            format!(":{}:{}", self.line, self.column)
        };
        format!(
            "{}{place}: {}: {}\n",
            self.file,
            paint.apply(&style, word),
            self.problem
        )
    }

    /// A workflow command: GitHub shows it beside the line.
    fn github(&self) -> String {
        let word = match self.problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = if self.line == 0 {
            String::new()
        } else {
            format!(",line={},col={}", self.line, self.column)
        };
        let title = if self.problem.path.is_empty() {
            "mxjob"
        } else {
            &self.problem.path
        };
        format!(
            "::{word} file={}{place},title={}::{}\n",
            property(&self.file),
            property(title),
            data(&self.problem.message)
        )
    }
}

/// <https://docs.github.com/actions/reference/workflow-commands>: what must be escaped in a message.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// What must be escaped in a property besides.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// With colours.
    Coloured,
    /// Without.
    Plain,
}

impl Paint {
    /// For standard output: colours on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn stdout() -> Self {
        Self::of(&Term::stdout())
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self::of(&Term::stderr())
    }

    fn of(terminal: &Term) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted && terminal.features().colors_supported() {
            Self::Coloured
        } else {
            Self::Plain
        }
    }

    fn apply(self, style: &Style, text: &str) -> String {
        style
            .clone()
            .force_styling(self == Self::Coloured)
            .apply_to(text)
            .to_string()
    }
}

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// Adds what was found in a file, in the order of its lines. What several aliases of one place
    /// bring is told once.
    pub(crate) fn add(&mut self, mut found: Vec<Finding>) {
        found.sort_by_key(|one| (one.line, one.column));
        for one in found {
            if !self
                .0
                .iter()
                .rev()
                .take_while(|other| other.place() == one.place())
                .any(|other| other.repeats(&one))
            {
                self.0.push(one);
            }
        }
    }

    /// How many errors there are.
    pub(crate) fn errors(&self) -> usize {
        self.0.iter().filter(|one| one.problem.is_error()).count()
    }

    /// How many warnings there are.
    pub(crate) fn warnings(&self) -> usize {
        self.0.len() - self.errors()
    }

    /// For people: a line each, `file:line:column: error: field: message`.
    pub(crate) fn text(&self, paint: Paint) -> String {
        self.0.iter().map(|one| one.text(paint)).collect()
    }

    /// For programs: a list of objects.
    pub(crate) fn json(&self) -> String {
        // Plain data always renders.
        let mut text = serde_json::to_string_pretty(&self.0).unwrap_or_default();
        text.push('\n');
        text
    }

    /// For a GitHub workflow.
    pub(crate) fn github(&self) -> String {
        self.0.iter().map(Finding::github).collect()
    }

    /// Like `2 errors, 1 warning`; `None` without any.
    pub(crate) fn summary(&self) -> Option<String> {
        let counts = [(self.errors(), "error"), (self.warnings(), "warning")];
        let counts = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| plural(count, word));
        let counts: Vec<_> = counts.collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}

/// Like `1 error` or `2 errors`.
pub(crate) fn plural(count: usize, word: &str) -> String {
    let mut text = format!("{count} {word}");
    if count != 1 {
        text.push('s');
    }
    text
}
