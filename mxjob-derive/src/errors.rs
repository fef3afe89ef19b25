//! Mistakes of one wave, collected so that one compile shows them all.

use std::fmt::Display;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;

/// A mistake for darling that underlines `tokens`. An error of darling's has one span, which on a
/// stable compiler is that of one token: where the last token is, a second error without words says.
pub(crate) fn mistake(tokens: impl ToTokens, message: impl Display) -> darling::Error {
    let tokens = tokens.into_token_stream();
    let first = darling::Error::custom(message).with_span(&tokens);
    let last = tokens.into_iter().skip(1).last();
    let last = last.map(|last| darling::Error::custom("").with_span(&last));
    darling::Error::multiple(std::iter::once(first).chain(last).collect())
}

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a mistake that underlines `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value of a result; its mistake is added.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The value that darling read; its mistakes are added.
    pub(crate) fn taken<T>(&mut self, result: darling::Result<T>) -> Option<T> {
        result.map_err(|errors| self.add(errors)).ok()
    }

    /// Adds mistakes made by [`mistake`].
    pub(crate) fn add(&mut self, errors: darling::Error) {
        let mut errors = errors
            .flatten()
            .into_iter()
            .map(syn::Error::from)
            .peekable();
        while let Some(error) = errors.next() {
            let message = error.to_string();
            let last = errors.next_if(|next| next.to_string().is_empty());
            let ends = [Some(error.span()), last.map(|last| last.span())];
            let ends = ends.into_iter().flatten();
            let ends: TokenStream = ends
                .map(|span| TokenTree::from(Ident::new("_", span)))
                .collect();
            self.at(ends, message);
        }
    }

    /// `value` when there was no mistake.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        match self.0 {
            Some(errors) => Err(errors),
            None => Ok(value),
        }
    }
}
