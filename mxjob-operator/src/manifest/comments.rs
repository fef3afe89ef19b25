//! Comments of a manifest, carried over to another text of the same job. The YAML library tells
//! places and no comments of a mapping, so these are read from the lines.

use std::collections::HashMap;

use mxjob_core::RoleTable;
use mxjob_core::api::Version;
use mxjob_core::check::Path;
use mxjob_core::conversion::path_before;
use serde_json::Value;

use super::document::{Document, Position};
use super::identity::Identity;
use super::yaml;

/// The comments of a document.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    table: Option<(&'static RoleTable, Version)>,
    /// The document as it is written.
    value: Value,
    fields: Vec<Comment>,
    /// Those after the last field.
    end: Vec<String>,
}

/// What is said of a field.
#[derive(Debug, PartialEq, Eq)]
struct Comment {
    path: String,
    /// Lines before it.
    above: Vec<String>,
    /// At the end of its line.
    beside: Option<String>,
}

impl Comments {
    /// Those of each document of a text.
    pub(crate) fn of(apis: &[&'static RoleTable], text: &str) -> Vec<Self> {
        let nodes = yaml::objects(text).unwrap_or_default().into_iter();
        let lines: Vec<_> = (1..).zip(text.lines()).collect();
        let comments = |(at, (node, is_item))| {
            // What a cluster prints has none.
            if is_item {
                return Self::default();
            }
            let document = Document::new(at + 1, node);
            let (fields, end) = read(&lines, &document);
            let table = match Identity::of(apis, &document.value) {
                Identity::Ours(table, version) => Some((table, version)),
                _ => None,
            };
            Self {
                table,
                value: document.value,
                fields,
                end,
            }
        };
        nodes.enumerate().map(comments).collect()
    }

    /// `text` with the comments, the job as `converted` to that version of `own`; `v1`: its v1 form.
    pub(crate) fn put_into(
        self,
        text: &str,
        v1: &Value,
        (own, to, converted): (&RoleTable, Version, &Value),
    ) -> String {
        let Some((table, from)) = self.table else {
            return text.to_owned();
        };
        // A path of the source, and where that is now.
        let mut moved = HashMap::new();
        each_path(v1, Path::ROOT, &mut |path| {
            let before = path_before(table, from, &self.value, path);
            let now = path_before(own, to, converted, path);
            moved.entry(before).or_insert(now);
        });
        let with = self.insert(text, &moved).unwrap_or_default();
        // Never another job for a comment's sake.
        if values(&with) == values(text) {
            with
        } else {
            text.to_owned()
        }
    }

    fn insert(&self, text: &str, moved: &HashMap<String, String>) -> Option<String> {
        let document = Document::new(1, yaml::documents(text).ok()?.into_iter().next()?);
        let starts: Vec<_> = document.fields().map(|(at, _)| at.line).collect();
        let mut above: HashMap<u64, Vec<&str>> = HashMap::new();
        let mut beside: HashMap<u64, &str> = HashMap::new();
        for comment in &self.fields {
            let same = document.has(&comment.path).then_some(comment.path.as_str());
            let (now, exact) = match moved.get(&comment.path).map(String::as_str).or(same) {
                Some(now) => (now, true),
                None => (around(&comment.path, moved), false),
            };
            let line = head(text, document.position(now).line);
            // A value of several lines has no room at the end of the first.
            let one_line = |line: u64| {
                let next = usize::try_from(line)
                    .ok()
                    .and_then(|at| text.lines().nth(at));
                next.is_none() || starts.contains(&(line + 1))
            };
            let lines = above.entry(line).or_default();
            lines.extend(comment.above.iter().map(String::as_str));
            match comment.beside.as_deref() {
                Some(text) if exact && one_line(line) && !beside.contains_key(&line) => {
                    beside.insert(line, text);
                }
                text => lines.extend(text),
            }
        }
        let mut out = String::with_capacity(2 * text.len());
        let mut add = |parts: &[&str]| {
            out.extend(parts.iter().copied());
            out.push('\n');
        };
        for (number, line) in (1..).zip(text.lines()) {
            let indent = line.get(..indent(line)).unwrap_or_default();
            for comment in above.get(&number).into_iter().flatten() {
                add(&[indent, comment]);
            }
            match beside.get(&number) {
                Some(comment) => add(&[line, " ", comment]),
                None => add(&[line]),
            }
        }
        for comment in &self.end {
            add(&[comment]);
        }
        Some(out)
    }
}

/// Where that is now which is the nearest around a field.
fn around<'a>(path: &str, moved: &'a HashMap<String, String>) -> &'a str {
    let mut at = path;
    while let Some(end) = at.rfind(['.', '[']) {
        at = at.get(..end).unwrap_or_default();
        if let Some(now) = moved.get(at) {
            return now;
        }
    }
    ""
}

fn each_path(value: &Value, path: Path<'_>, visit: &mut dyn FnMut(&str)) {
    visit(&path.to_string());
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                each_path(value, path.key(key), visit);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                each_path(item, path.item(at), visit);
            }
        }
        _ => {}
    }
}

fn values(text: &str) -> Option<Vec<Value>> {
    let nodes = yaml::documents(text).ok()?.into_iter();
    let value = |node| Document::new(1, node).value;
    Some(nodes.map(value).collect())
}

/// The comments of a document, and those after its last field.
fn read(lines: &[(u64, &str)], document: &Document) -> (Vec<Comment>, Vec<String>) {
    let mut starts: HashMap<u64, Vec<(Position, &str)>> = HashMap::new();
    for (at, path) in document.fields() {
        starts.entry(at.line).or_default().push((at, path));
    }
    let first = starts.keys().min().copied().unwrap_or_default();
    let before = lines.iter().take_while(|(number, _)| *number <= first);
    let marker = before.filter(|(_, line)| is_marker(line)).last();
    let begin = marker.map_or(0, |(number, _)| *number);
    // What stands above the first marker is said of the first document.
    let above = || lines.iter().take_while(|(number, _)| *number < begin);
    let says_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let above = above().filter(|_| above().all(|(_, line)| says_nothing(line)));
    let own = lines.iter().skip_while(|(number, _)| *number <= begin);
    let own = own.take_while(|(_, line)| !is_marker(line));
    let own: Vec<_> = above.chain(own).collect();

    let (mut comments, mut pending) = (Vec::new(), Vec::new());
    // How far the lines of a block of text are indented at least.
    let mut block: Option<usize> = None;
    // Of a quoted text of several lines.
    let mut quote: Option<char> = None;
    for (at, (number, line)) in own.iter().enumerate() {
        let blank = line.trim().is_empty();
        if blank || block.is_some_and(|least| indent(line) >= least) {
            continue;
        }
        block = None;
        let mut head = *number;
        if quote.is_some() {
            quote = beside(line, quote).1;
            continue;
        }
        if line.trim_start().starts_with('#') {
            pending.push(line.trim().to_owned());
            continue;
        }
        let (beside, open) = beside(line, None);
        quote = open;
        if is_block_header(line, beside) {
            let mut below = own.iter().skip(at + 1);
            let below = below.find(|(_, below)| !below.trim().is_empty());
            let below = below.filter(|(_, below)| indent(below) > indent(line));
            block = below.map(|(_, below)| indent(below));
            // An item of that kind stands where its text begins.
            if let (false, Some((number, _))) = (starts.contains_key(number), below) {
                head = *number;
            }
        }
        let Some(here) = starts.get(&head) else {
            // The sign of an item whose fields are below.
            pending.extend(beside.map(|beside| beside.trim_end().to_owned()));
            continue;
        };
        let path = |found: Option<&(Position, &str)>| found.map(|(_, path)| (*path).to_owned());
        let above = std::mem::take(&mut pending);
        if let (false, Some(path)) = (above.is_empty(), path(here.first())) {
            comments.push(Comment {
                path,
                above,
                beside: None,
            });
        }
        // Of `- name: mxnet` it is about the name, of `args: [a, b]` about all of them.
        let key = here
            .iter()
            .find(|(_, path)| !path.ends_with(']'))
            .or(here.first());
        if let (Some(beside), Some(path)) = (beside, path(key)) {
            comments.push(Comment {
                path,
                above: Vec::new(),
                beside: Some(beside.trim_end().to_owned()),
            });
        }
    }
    (comments, pending)
}

/// The line of the sign of an item that is a text to the letter; of anything else, its own.
fn head(text: &str, line: u64) -> u64 {
    let row = |number: u64| text.lines().nth(usize::try_from(number).ok()?);
    let before = line.checked_sub(2).and_then(row);
    let is_head = before.is_some_and(|before| {
        before.trim_start().starts_with("- ") && is_block_header(before, None)
    });
    if is_head { line - 1 } else { line }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Between two documents.
fn is_marker(line: &str) -> bool {
    ["---", "..."].iter().any(|marker| {
        let rest = line.strip_prefix(marker);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}

/// The comment at the end of a line with something else in it, and the quote that is open at its end;
/// `quote`: at its beginning.
fn beside(line: &str, mut quote: Option<char>) -> (Option<&str>, Option<char>) {
    let mut before = ' ';
    let mut chars = line.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match (quote, char) {
            (Some('"'), '\\') => drop(chars.next()),
            (Some(open), close) if open == close => quote = None,
            // Elsewhere it is a character like others.
            (None, '"' | '\'') if " [{,'".contains(before) => quote = Some(char),
            (None, '#') if before == ' ' => return (line.get(at..), None),
            _ => {}
        }
        before = if char == '\t' { ' ' } else { char };
    }
    // A plain text may have one that nothing closes.
    let said = quote.and_then(|quote| line.rsplit_once(quote));
    let begins = said.is_none_or(|(said, _)| {
        let said = said.trim_end();
        said.is_empty() || said.ends_with([':', '-', '[', '{', ',', '"', '\''])
    });
    (None, quote.filter(|_| begins))
}

/// Whether the lines below are text to the letter.
fn is_block_header(line: &str, beside: Option<&str>) -> bool {
    let said = line.len() - beside.map_or(0, str::len);
    let said = line.get(..said).unwrap_or_default().trim_end();
    let word = said.rsplit(' ').next().unwrap_or_default();
    let mut chars = word.chars();
    matches!(chars.next(), Some('|' | '>')) && chars.all(|one| "+-123456789".contains(one))
}

#[cfg(test)]
mod tests;
