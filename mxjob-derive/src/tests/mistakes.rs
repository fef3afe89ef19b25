//! What is a mistake and what is not, where that takes more than one glance.

use mxjob_core::check::MAX_REPLICAS;
use proc_macro2::Literal;
use quote::quote;

use super::{mistakes, with};

/// The one mistake of a set.
fn only(mistakes: &[String]) -> &str {
    assert_eq!(mistakes.len(), 1, "{mistakes:#?}");
    &mistakes[0]
}

#[test]
fn a_set_without_mistakes_has_none() {
    assert_eq!(with(&quote!(), &quote!(replicas = 1..), &quote!()), [""; 0]);
}

#[test]
fn the_most_replicas_are_those_that_the_checks_of_a_job_allow() {
    let most = Literal::i64_unsuffixed(MAX_REPLICAS);
    let mistakes = with(&quote!(), &quote!(replicas = 0..=#most), &quote!());
    assert_eq!(mistakes, [""; 0]);
    let more = Literal::i64_unsuffixed(MAX_REPLICAS + 1);
    let mistakes = with(&quote!(), &quote!(replicas = 0..=#more), &quote!());
    assert!(only(&mistakes).contains(&format!("the {MAX_REPLICAS} replicas")));
}

#[test]
fn replicas_are_a_number_or_any_range_of_numbers() {
    for good in [
        quote!(1),
        quote!(3..),
        quote!(0..=4),
        quote!(0..4),
        quote!(2..=2),
        quote!(..=4),
        quote!(..),
        quote!(1_000),
        quote!(0..=100_000),
        quote!(0..100_001),
    ] {
        assert_eq!(
            with(&quote!(), &quote!(replicas = #good), &quote!()),
            [""; 0],
            "{good}"
        );
    }
    for (bad, reason) in [
        (quote!(5..2), "empty"),
        (quote!(0..0), "empty"),
        (quote!(3..3), "empty"),
        (quote!(0), "no replica"),
        (quote!(0..1), "no replica"),
        (quote!(-1), "whole numbers"),
        (quote!(1.5), "whole numbers"),
        (quote!("1"), "whole numbers"),
        (quote!(N), "whole numbers"),
        (quote!(100_001), "the 100000 replicas"),
        (quote!(100_001..), "the 100000 replicas"),
        (quote!(0..100_002), "the 100000 replicas"),
        (quote!(0..=4_294_967_296), "the 100000 replicas"),
    ] {
        let mistakes = with(&quote!(), &quote!(replicas = #bad), &quote!());
        assert!(only(&mistakes).contains(reason), "{bad}: {mistakes:?}");
    }
}

#[test]
fn a_default_is_in_its_range() {
    for (good, range) in [
        (quote!(0), quote!(0..=1)),
        (quote!(3), quote!(0..4)),
        (quote!(9), quote!(1..)),
    ] {
        assert_eq!(
            with(
                &quote!(),
                &quote!(replicas = #range, default = #good),
                &quote!()
            ),
            [""; 0]
        );
    }
    for (bad, range) in [
        (quote!(0), quote!(1..)),
        (quote!(4), quote!(0..4)),
        (quote!(5), quote!(0..=4)),
    ] {
        let mistakes = with(
            &quote!(),
            &quote!(replicas = #range, default = #bad),
            &quote!(),
        );
        assert!(only(&mistakes).starts_with("`default` is outside"));
    }
}

#[test]
fn an_address_needs_a_replica_but_a_list_of_addresses_does_not() {
    let worker = quote!(replicas = 1..);
    for good in [
        quote!(hosts(Server)),
        quote!(count(Server)),
        quote!(count(Tuner)),
        quote!(host(Worker)),
    ] {
        assert_eq!(
            with(&quote!(env(A = #good)), &worker, &quote!()),
            [""; 0],
            "{good}"
        );
    }
    for bad in [quote!(host(Server)), quote!(port(Server))] {
        assert!(only(&with(&quote!(env(A = #bad)), &worker, &quote!())).contains("may have none"));
    }
    for bad in [
        quote!(host(Tuner)),
        quote!(port(Tuner)),
        quote!(hosts(Tuner)),
    ] {
        assert!(only(&with(&quote!(env(A = #bad)), &worker, &quote!())).contains("never has"));
    }
}

#[test]
fn a_role_without_its_modes_environment_may_set_the_same_variable() {
    let (train, worker) = (quote!(env(RANK = index)), quote!(replicas = 1));
    assert_eq!(
        with(&train, &worker, &quote!(mode_env = false, env(RANK = "0"))),
        [""; 0]
    );
    assert!(only(&with(&train, &worker, &quote!(env(RANK = "0")))).contains("mode `Train`"));
}

#[test]
fn the_layout_variable_is_not_set_by_hand() {
    let worker = quote!(replicas = 1);
    assert!(only(&with(&quote!(env(CONFIG = "{}")), &worker, &quote!())).contains("`config_env`"));
    assert!(
        only(&with(
            &quote!(),
            &worker,
            &quote!(env(CONFIG = default("{}")))
        ))
        .contains("`config_env`")
    );
}

#[test]
fn requirements_make_a_tree() {
    let chain = with(
        &quote!(),
        &quote!(replicas = 1, requires = [Server]),
        &quote!(),
    );
    assert_eq!(chain, [""; 0]);
    let circle = with(
        &quote!(),
        &quote!(replicas = 1, requires = [Server]),
        &quote!(requires = [Worker]),
    );
    assert_eq!(
        only(&circle),
        "`requires` goes in a circle, Worker -> Server -> Worker: remove one of them"
    );
    let own = with(
        &quote!(),
        &quote!(replicas = 1, requires = [Worker]),
        &quote!(),
    );
    assert_eq!(only(&own), "`requires` of `Worker` names itself: remove it");
    let foreign = with(
        &quote!(),
        &quote!(replicas = 1, requires = [Tuner]),
        &quote!(),
    );
    assert!(only(&foreign).contains("never has"));
}

#[test]
fn every_circle_is_reported_once() {
    let roles = |a: &str, b: &str, c: &str, d: &str| {
        let [a, b, c, d]: [proc_macro2::TokenStream; 4] =
            [a, b, c, d].map(|list| list.parse().expect("tokens"));
        mistakes(quote! {
            #[roles(mode(M, chief = [A]))]
            enum Roles {
                #[role(mode = M, replicas = 1, requires = [#a])] A,
                #[role(mode = M, replicas = 1, requires = [#b])] B,
                #[role(mode = M, replicas = 1, requires = [#c])] C,
                #[role(mode = M, replicas = 1, requires = [#d])] D,
            }
        })
    };
    assert_eq!(roles("B, C", "D", "D", ""), [""; 0]);
    assert!(only(&roles("B", "C", "D", "B")).contains("B -> C -> D -> B"));
    assert_eq!(roles("B", "A", "D", "C").len(), 2);
}

#[test]
fn an_unknown_name_gives_one_mistake() {
    let chief = mistakes(quote! {
        #[roles(mode(Train, chief = [Wroker]))]
        enum Roles { #[role(mode = Train, replicas = 1)] Worker }
    });
    assert_eq!(
        only(&chief),
        "unknown role `Wroker`: did you mean `Worker`?"
    );
    let mode = mistakes(quote! {
        #[roles(mode(Train, chief = [Worker]))]
        enum Roles { #[role(mode = Trian, replicas = 1)] Worker }
    });
    assert_eq!(only(&mode), "unknown `mode` `Trian`: did you mean `Train`?");
    let none = mistakes(quote!(
        enum Roles {
            #[role(mode = Train, replicas = 1)]
            Worker,
        }
    ));
    assert_eq!(
        only(&none),
        "unknown `mode` `Train`: declare `mode(Train, chief = [Worker])` in `#[roles(..)]`"
    );
}

#[test]
fn role_names_are_part_of_dns_labels() {
    let named = |name: &str| {
        mistakes(quote! {
            #[roles(mode(Train, chief = [Worker]))]
            enum Roles { #[role(mode = Train, replicas = 1, rename = #name)] Worker }
        })
    };
    for good in ["PS", "ps2", &"a".repeat(59)] {
        assert_eq!(named(good), [""; 0], "{good}");
    }
    for bad in ["", "2ps", "p s", "p_s", "p-s", "Prüfer", &"a".repeat(60)] {
        assert_eq!(named(bad).len(), 1, "{bad}");
    }
}

#[test]
fn other_names_are_what_kubernetes_takes() {
    let keys = |keys: proc_macro2::TokenStream| {
        mistakes(quote! {
            #[roles(#keys, mode(Train, chief = [Worker]))]
            enum Roles { #[role(mode = Train, replicas = 1)] Worker }
        })
    };
    for good in [
        quote!(
            container = "mxnet",
            port(name = "mxjob-port", number = 65535),
            config_env = "_A1"
        ),
        quote!(crd(
            group = "kubeflow.org",
            kind = "MXJob",
            plural = "mxjobs",
            singular = "mxjob",
            short_names = ["mxj"]
        )),
        quote!(crate = ::jobs),
        quote!(crate = crate::jobs),
    ] {
        assert_eq!(keys(good.clone()), [""; 0], "{good}");
    }
    for bad in [
        quote!(container = "MXNet"),
        quote!(container = "-mxnet"),
        quote!(port(name = "9091", number = 9091)),
        quote!(port(name = "mx--port", number = 9091)),
        quote!(port(name = "mx-job-port-name", number = 9091)),
        quote!(port(name = "port", number = 65536)),
        quote!(config_env = "mx_config"),
        quote!(config_env = "1"),
        quote!(crd(group = "kubeflow", kind = "MXJob")),
        quote!(crd(group = "kubeflow.org", kind = "mxjob")),
        quote!(crd(
            group = "kubeflow.org",
            kind = "MXJob",
            plural = "mx_jobs"
        )),
        quote!(crd(group = "kubeflow.org")),
        quote!(crate = jobs),
        quote!(crate = self::jobs),
        quote!(crate = "jobs"),
    ] {
        assert_eq!(keys(bad.clone()).len(), 1, "{bad}");
    }
}

#[test]
fn fields_are_those_of_the_downward_api() {
    let worker = quote!(replicas = 1);
    for good in [
        "metadata.namespace",
        "status.podIP",
        "status.hostIPs",
        "metadata.labels['a/b']",
    ] {
        assert_eq!(
            with(&quote!(env(A = field(#good))), &worker, &quote!()),
            [""; 0],
            "{good}"
        );
    }
    for bad in [
        "",
        "metadata.labels",
        "metadata.labels['']",
        "spec.containers",
        "limits.cpu",
    ] {
        assert!(
            only(&with(&quote!(env(A = field(#bad))), &worker, &quote!()))
                .starts_with("unknown pod `field`")
        );
    }
}

#[test]
fn odd_keys_are_mistakes_and_nothing_worse() {
    for odd in [
        "replicas = 1..=, mode = Train",
        "mode = Train::Inner, replicas = 1",
        "mode = Train, replicas = ()",
        "mode = Train, replicas = [1]",
        "mode = Train, replicas = 1, env",
        "mode = Train, replicas = 1, env[A = \"b\"](c)",
        "mode = Train, replicas = 1, env(A = host(Worker::<u8>))",
        "mode = Train, replicas = 1, env(A = host(a::b::c))",
        "mode = Train, replicas = 1, env(A = host(::Worker))",
        "mode = Train, replicas = 1, env(A = (host)(Worker))",
        "mode = Train, replicas = 1, env(A = r#role)",
        "mode = Train, replicas = 1, env(A = \"b\", = )",
        "mode = Train, replicas = 1, restart = [Never::Always, \"Never\", 1]",
        "mode = Train, replicas = 1, requires = [[Worker]]",
        "mode = Train, replicas = 1, port(number = 1.5, name = 'a')",
        "mode = Train, replicas = 99999999999999999999999999999999999999999",
        "mode = Train, replicas = 1, crate::gpu",
        ", ,",
        "=",
    ] {
        let tokens: proc_macro2::TokenStream = odd.parse().expect("tokens");
        let mistakes = mistakes(quote! {
            #[roles(mode(Train, chief = [Worker]))]
            enum Roles { #[role(#tokens)] Worker }
        });
        assert!(!mistakes.is_empty(), "{odd}");
    }
}

#[test]
fn modes_have_names_of_letters_and_digits_that_differ_in_more_than_case() {
    let modes = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|name| quote::format_ident!("{name}"));
        mistakes(quote! {
            #[roles(mode(#one, chief = [A]), mode(#other, chief = [B]))]
            enum Roles {
                #[role(mode = #one, replicas = 1)] A,
                #[role(mode = #other, replicas = 1)] B,
            }
        })
    };
    assert_eq!(modes("Train2", "Tune"), [""; 0]);
    assert!(only(&modes("Train", "tRAIN")).contains("but for letter case"));
    assert!(only(&modes("Train", "Tune_2")).contains("no name of a mode"));
    assert!(only(&modes("Pr\u{fc}fer", "Tune")).contains("no name of a mode"));
}

#[test]
fn a_role_without_services_has_no_address() {
    let server = quote!(services = false);
    for bad in [quote!(hosts(Server)), quote!(host(Server))] {
        let mistakes = with(&quote!(env(A = #bad)), &quote!(replicas = 1), &server);
        assert!(only(&mistakes).contains("`services = false`"), "{bad}");
    }
    let count = with(
        &quote!(env(A = count(Server))),
        &quote!(replicas = 1),
        &server,
    );
    assert_eq!(count, [""; 0]);
}
