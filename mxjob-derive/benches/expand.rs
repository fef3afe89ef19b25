//! What the derive costs a compile: from an enum's tokens to the impls'. `cargo bench -p mxjob-derive`.
//!
//! A macro crate has no public functions, so the modules are compiled into the benchmark.

#![allow(
    dead_code,
    missing_docs,
    reason = "what only the macro itself uses; benchmarks are no interface"
)]

#[path = "../src/attr/mod.rs"]
mod attr;
#[path = "../src/check/mod.rs"]
mod check;
#[path = "../src/derive.rs"]
mod derive;
#[path = "../src/errors.rs"]
mod errors;
#[path = "../src/expand/mod.rs"]
mod expand;
#[path = "../src/fallback.rs"]
mod fallback;
#[path = "../src/model.rs"]
mod model;
#[path = "../src/suggest.rs"]
mod suggest;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

fn main() {
    divan::main();
}

/// The set of mxjob-core: six roles.
fn mx() -> TokenStream {
    let file = syn::parse_file(include_str!("../../mxjob-core/src/role/mx.rs"));
    let items = file.map(|file| file.items).unwrap_or_default();
    items
        .iter()
        .filter(|item| matches!(item, syn::Item::Enum(_)))
        .map(ToTokens::to_token_stream)
        .collect()
}

#[divan::bench]
fn six_roles(bencher: divan::Bencher<'_, '_>) {
    bencher
        .with_inputs(mx)
        .bench_local_values(derive::replica_role);
}

#[divan::bench(args = [1, 4, 16])]
fn roles(bencher: divan::Bencher<'_, '_>, count: usize) {
    let names: Vec<_> = (1..count)
        .map(|index| quote::format_ident!("Role{index}"))
        .collect();
    let set = quote! {
        #[roles(mode(Train, chief = [First]))]
        enum Roles {
            #[role(mode = Train, replicas = 1)]
            First,
            #(#[role(mode = Train, replicas = 0.., optional, requires = [First], env(ADDRESS = host(First)))] #names,)*
        }
    };
    bencher
        .with_inputs(|| set.clone())
        .bench_local_values(derive::replica_role);
}
