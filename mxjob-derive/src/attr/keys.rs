//! Lists of keys: how they are written, and that each is known and given once. From there darling
//! takes each to its field.
//!
//! This much is not darling's, whose words are others and fewer: it says "expected `,`" of whatever
//! follows a key, names no key where ten are possible, and reads `-1` as one number, of which it
//! underlines the sign.

use darling::FromMeta;
use darling::ast::NestedMeta;
use proc_macro2::{Span, TokenStream};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, LitStr, Meta, MetaNameValue, Path, Token};

use crate::errors::{Errors, mistake};
use crate::suggest;

/// What an attribute or a block in one consists of: its fields are the keys.
pub(crate) trait Keys: FromMeta {
    /// What stands before the parentheses.
    const OWNER: &'static str;
    /// The keys.
    const KNOWN: &'static [&'static str];
    /// Those that cannot be left out.
    const NEEDED: &'static [&'static str] = &[];
    /// Those that may be given several times.
    const REPEATED: &'static [&'static str] = &[];
    /// How a block may be written.
    const EXAMPLE: &'static str = "";

    /// Reads keys that are known, each given once.
    fn of(metas: Vec<Meta>) -> darling::Result<Self> {
        let items: Vec<_> = metas.into_iter().map(NestedMeta::Meta).collect();
        Self::from_list(&items)
    }
}

/// The keys of all attributes of that name.
pub(super) fn of_attributes<K: Keys>(attributes: &[Attribute], errors: &mut Errors) -> Vec<Meta> {
    let owner = K::OWNER;
    let mut metas = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident(owner))
    {
        match &attribute.meta {
            Meta::List(list) => {
                let read = errors.take(split(list.tokens.clone()));
                metas.extend(read.into_iter().flatten());
            }
            other => {
                let message =
                    format!("`{owner}` needs its keys in parentheses: write `#[{owner}(..)]`");
                errors.at(other, message);
            }
        }
    }
    let mut mistakes = Vec::new();
    let metas = single::<K>(metas, &mut mistakes);
    for mistake in mistakes {
        errors.add(mistake);
    }
    metas
}

/// The block of keys that is the value of a key, like `port(..)`.
pub(super) fn block<K: Keys>(meta: &Meta) -> darling::Result<K> {
    of_block(meta.path(), parentheses(meta, K::EXAMPLE)?)
}

/// The same of what stands in the parentheses.
pub(super) fn of_block<K: Keys>(at: &Path, tokens: TokenStream) -> darling::Result<K> {
    let mut errors = Vec::new();
    let metas = single::<K>(split(tokens)?, &mut errors);
    let lacks = |key: &&str| !metas.iter().any(|meta| meta.path().is_ident(key));
    if K::NEEDED.iter().any(lacks) {
        let needed: Vec<_> = K::NEEDED.iter().map(|key| format!("`{key}`")).collect();
        let (owner, needed) = (K::OWNER, needed.join(" and "));
        let message = format!("`{owner}` needs {needed}: write `{}`", K::EXAMPLE);
        errors.push(mistake(at, message));
    }
    match K::of(metas) {
        Ok(keys) if errors.is_empty() => Ok(keys),
        read => {
            errors.extend(read.err());
            Err(darling::Error::multiple(errors))
        }
    }
}

/// Stands for the value of a key that a block needs and lacks, which [`of_block`] tells.
pub(super) fn needed() -> LitStr {
    LitStr::new("", Span::call_site())
}

/// What stands in the parentheses after a key; `example` is what else the user is told to write.
pub(super) fn parentheses(meta: &Meta, example: &str) -> darling::Result<TokenStream> {
    match meta {
        Meta::List(list) => Ok(list.tokens.clone()),
        other => {
            let key = text(other.path());
            Err(mistake(
                other,
                format!("`{key}` needs parentheses: write `{example}`"),
            ))
        }
    }
}

/// The keys of a list.
pub(super) fn split(tokens: TokenStream) -> syn::Result<Punctuated<Meta, Token![,]>> {
    keys.parse2(tokens)
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

/// The keys without those that are unknown or, unless they may repeat, given before.
fn single<K: Keys>(
    metas: impl IntoIterator<Item = Meta>,
    errors: &mut Vec<darling::Error>,
) -> Vec<Meta> {
    let mut kept: Vec<Meta> = Vec::new();
    for meta in metas {
        let path = meta.path();
        let Some(key) = K::KNOWN.iter().find(|key| path.is_ident(**key)) else {
            let what = format!("`{}` key", K::OWNER);
            errors.push(mistake(
                path,
                suggest::unknown(&what, &text(path), K::KNOWN),
            ));
            continue;
        };
        if !K::REPEATED.contains(key) && kept.iter().any(|other| other.path().is_ident(*key)) {
            errors.push(mistake(path, format!("`{key}` is given twice: remove one")));
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
