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

    /// Adds a mistake to each key left but `key`.
    pub(super) fn only(&mut self, key: &str, message: &str) {
        for other in self.metas.iter().filter(|meta| !meta.path().is_ident(key)) {
            self.errors.at(other, message);
        }
    }
}

/// The keys of a list, when they have the form of keys.
pub(super) fn split(
    tokens: TokenStream,
    errors: &mut Errors,
) -> Option<Punctuated<Meta, Token![,]>> {
    let keys = |input: ParseStream<'_>| Punctuated::parse_terminated_with(input, key);
    errors.take(keys.parse2(tokens))
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
    Ok(Meta::NameValue(MetaNameValue {
        path,
        eq_token,
        value: input.parse()?,
    }))
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
