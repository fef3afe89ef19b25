//! The keys of an attribute or of a block in it, each at most once.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Meta, MetaNameValue, Path, Token};

use crate::errors::Errors;
use crate::suggest;

/// Keys not taken yet, and where the mistakes about them go.
#[derive(Debug)]
pub(super) struct Keys<'e> {
    metas: Vec<Meta>,
    /// False when some keys could not be read.
    whole: bool,
    pub(super) errors: &'e mut Errors,
}

impl<'e> Keys<'e> {
    /// The keys of all attributes called `owner`.
    pub(super) fn of_attributes(
        attributes: &[Attribute],
        owner: &str,
        known: &[&str],
        errors: &'e mut Errors,
    ) -> Self {
        let mut metas = Vec::new();
        let mut whole = true;
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident(owner))
        {
            let Meta::List(list) = &attribute.meta else {
                let message =
                    format!("`{owner}` needs its keys in parentheses: write `#[{owner}(..)]`");
                errors.at(&attribute.meta, message);
                whole = false;
                continue;
            };
            let read = split(list.tokens.clone(), errors);
            whole &= read.is_some();
            metas.extend(read.into_iter().flatten());
        }
        Self {
            metas: single(metas, owner, known, errors),
            whole,
            errors,
        }
    }

    /// The keys of a block, like what stands in the parentheses of `port(..)`.
    pub(super) fn of_block(
        tokens: TokenStream,
        owner: &str,
        known: &[&str],
        errors: &'e mut Errors,
    ) -> Self {
        let metas = split(tokens, errors);
        let whole = metas.is_some();
        Self {
            metas: single(metas.unwrap_or_default(), owner, known, errors),
            whole,
            errors,
        }
    }

    /// True when a key that the block needs is not there.
    pub(super) fn lacks(&self, key: &str) -> bool {
        self.whole && self.path(key).is_none()
    }

    /// The keys left of those called `key`.
    pub(super) fn take_all(&mut self, key: &str) -> Vec<Meta> {
        self.metas
            .extract_if(.., |meta| meta.path().is_ident(key))
            .collect()
    }

    /// The path that is the key itself, when it is there.
    pub(super) fn path(&self, key: &str) -> Option<Path> {
        self.metas
            .iter()
            .map(Meta::path)
            .find(|path| path.is_ident(key))
            .cloned()
    }

    /// True when the key is there: a key without a value.
    pub(super) fn flag(&mut self, key: &str) -> bool {
        let found = self.take_all(key);
        for meta in &found {
            if !matches!(meta, Meta::Path(_)) {
                self.errors.at(
                    meta,
                    format!("`{key}` takes no value: write `{key}` or leave it out"),
                );
            }
        }
        !found.is_empty()
    }

    /// The value after `key =`; `example` is what else the user is told to write.
    pub(super) fn value(&mut self, key: &str, example: &str) -> Option<Expr> {
        let meta = self.take_all(key).pop()?;
        if let Meta::NameValue(pair) = meta {
            return Some(ungroup(pair.value));
        }
        self.errors
            .at(meta, format!("`{key}` needs a value: write `{example}`"));
        None
    }

    /// What stands in the parentheses after `key`; `example` is what else the user is told to write.
    pub(super) fn block(&mut self, key: &str, example: &str) -> Option<TokenStream> {
        let meta = self.take_all(key).pop()?;
        if let Meta::List(list) = meta {
            return Some(list.tokens);
        }
        self.errors.at(
            meta,
            format!("`{key}` needs parentheses: write `{example}`"),
        );
        None
    }

    /// Takes each key left but `key`, as a mistake.
    pub(super) fn only(&mut self, key: &str, message: &str) {
        let others = |meta: &mut Meta| !meta.path().is_ident(key);
        for other in self.metas.extract_if(.., others) {
            self.errors.at(other, message);
        }
    }
}

/// The keys of a list, when they have the form of keys.
pub(super) fn split(
    tokens: TokenStream,
    errors: &mut Errors,
) -> Option<Punctuated<Meta, Token![,]>> {
    errors.take(keys.parse2(tokens))
}

fn keys(input: ParseStream<'_>) -> syn::Result<Punctuated<Meta, Token![,]>> {
    let mut keys = Punctuated::new();
    while !input.is_empty() {
        keys.push_value(key(input)?);
        if input.is_empty() {
            break;
        }
        if input.peek(Token![:]) {
            return Err(input.error("a value comes after `=`: write `key = value`"));
        }
        if !input.peek(Token![,]) {
            return Err(input.error("keys are kept apart by commas: write `,` before this"));
        }
        keys.push_punct(input.parse()?);
    }
    Ok(keys)
}

/// One key. Unlike `syn`'s own this keeps a sign and its number apart, to underline both.
fn key(input: ParseStream<'_>) -> syn::Result<Meta> {
    let ahead = input.fork();
    if ahead.call(Path::parse_mod_style).is_err() {
        return Err(input.error("not a key: write `key`, `key = value` or `key(..)`"));
    }
    if !ahead.peek(Token![=]) {
        return input.parse();
    }
    let (path, eq_token) = (input.call(Path::parse_mod_style)?, input.parse()?);
    let name = text(&path);
    if input.is_empty() || input.peek(Token![,]) {
        let message = format!("`{name}` has no value: write one after `=`, or remove it");
        return Err(syn::Error::new_spanned(path, message));
    }
    if let Ok(value) = input.parse() {
        return Ok(Meta::NameValue(MetaNameValue {
            path,
            eq_token,
            value,
        }));
    }
    let message = format!(
        "the value of `{name}` cannot be read: write a number, a range like `1..=4`, a name, \
         text in quotes or a list in `[]`"
    );
    Err(syn::Error::new_spanned(path, message))
}

/// A value as it is written, also when it came through a `macro_rules!` variable.
pub(super) fn ungroup(value: Expr) -> Expr {
    match value {
        Expr::Group(group) => ungroup(*group.expr),
        other => other,
    }
}

/// The keys without those that are unknown or given before; only `mode(..)` blocks may repeat.
fn single(
    metas: impl IntoIterator<Item = Meta>,
    owner: &str,
    known: &[&str],
    errors: &mut Errors,
) -> Vec<Meta> {
    let mut kept: Vec<Meta> = Vec::new();
    for meta in metas {
        let path = meta.path();
        let Some(key) = known.iter().find(|key| path.is_ident(**key)) else {
            errors.at(
                path,
                suggest::unknown(&format!("`{owner}` key"), &text(path), known),
            );
            continue;
        };
        let repeats = owner == "roles" && *key == "mode";
        if !repeats && kept.iter().any(|other| other.path().is_ident(*key)) {
            errors.at(path, format!("`{key}` is given twice: remove one"));
            continue;
        }
        kept.push(meta);
    }
    kept
}

/// A path as it is written.
pub(super) fn text(path: &Path) -> String {
    let parts: Vec<_> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    parts.join("::")
}
