//! What is written, for a set without mistakes and for one with.

use proc_macro2::TokenStream;
use quote::quote;

use crate::derive::replica_role;

fn pretty(input: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(replica_role(input)).expect("items"))
}

/// The set of mxjob-core.
fn mx() -> TokenStream {
    let source = include_str!("../../../mxjob-core/src/role/mx.rs");
    let file = syn::parse_file(source).expect("a module");
    let set = file
        .items
        .into_iter()
        .find(|item| matches!(item, syn::Item::Enum(_)));
    quote!(#set)
}

#[test]
fn of_the_mxnet_set() {
    let written = pretty(mx());
    assert!(
        written.lines().count() < 400,
        "this much for six roles is slow to compile"
    );
    insta::assert_snapshot!(written);
}

#[test]
fn of_an_extension() {
    let written = pretty(quote! {
        #[roles(crd(group = "example.org", kind = "TeamJob"), mode(Report, chief = [Reporter]))]
        enum Roles {
            #[role(mode = Report, replicas = 1)]
            Reporter,
            #[role(extend)]
            Mx(MxRole),
            #[role(extend)]
            Other(other::Roles),
            #[role(mode = MXTrain, replicas = 0.., requires = [Mx::Worker], env(
                CHIEF = host(Mx::Scheduler), REPORTERS = count(Reporter),
            ))]
            Reader,
        }
    });
    insta::assert_snapshot!(written);
}

#[test]
fn of_every_key() {
    let written = pretty(quote! {
        #[roles(
            container = "main",
            port(name = "job-port", number = 9091),
            mode(Train, chief = [Worker], workers = [Server], fixed_membership, env(
                A = port(Worker), B = host(Worker), C = hosts(Worker), D = count(Server), E = role, F = index,
                G = "text", H = default("text"), I = field("metadata.name"),
            )),
            crd(group = "example.org", kind = "TrainJob", short_names = ["tj", "tjs"]),
            crate = ::jobs,
        )]
        enum Roles {
            /// First line.
            ///
            ///   * second line
            #[role(mode = Train, replicas = 1..=8, default = 2, optional, gpu, label, restart = [OnFailure, Never])]
            Worker,
            #[role(
                mode = Train, replicas = 0..4, requires = [Worker], mode_env = false, services = false,
                container = "server", port(name = "ps", number = 1), rename = "PS", env(A = count(Server)),
            )]
            Server,
        }
    });
    insta::assert_snapshot!(written);
}

#[test]
fn of_a_mistake_is_the_mistake_and_a_stub() {
    let written = pretty(quote! {
        #[roles(crate = jobs)]
        enum Roles<T> where T: Copy {
            Worker(T),
        }
    });
    insta::assert_snapshot!(written);
}

#[test]
fn is_the_same_every_time() {
    assert_eq!(
        replica_role(mx()).to_string(),
        replica_role(mx()).to_string()
    );
}

#[test]
fn what_is_no_item_is_an_error_without_more() {
    assert!(
        pretty(quote!(
            fn main() {}
        ))
        .starts_with("::core::compile_error!")
    );
}
