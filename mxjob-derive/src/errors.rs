//! Mistakes of one wave, collected so that one compile shows them all.

use std::fmt::Display;

use quote::ToTokens;

/// A mistake for darling, which underlines the first of `tokens` alone.
pub(crate) fn mistake(tokens: impl ToTokens, message: impl Display) -> darling::Error {
    syn::Error::new_spanned(tokens, message).into()
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

    /// The value of a result; its mistakes are added.
    pub(crate) fn take<T>(&mut self, result: Result<T, impl Into<syn::Error>>) -> Option<T> {
        result.map_err(|error| self.push(error.into())).ok()
    }

    /// The result for darling, with these mistakes before its own.
    pub(crate) fn beside<T>(self, result: darling::Result<T>) -> darling::Result<T> {
        let mut errors: Vec<_> = self
            .0
            .into_iter()
            .flatten()
            .map(darling::Error::from)
            .collect();
        match result {
            Ok(value) if errors.is_empty() => Ok(value),
            result => {
                errors.extend(result.err());
                Err(darling::Error::multiple(errors))
            }
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
