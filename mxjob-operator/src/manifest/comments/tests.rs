use mxjob_core::role::apis;
use mxjob_core::{MxRole, conversion};

use super::*;
use crate::manifest::to_yaml;

/// The manifest's first document at that version, with its comments.
fn carried(text: &str, to: Version) -> String {
    let apis: Vec<_> = apis::<MxRole>().collect();
    let own = apis[0];
    let value = values(text).unwrap().remove(0);
    let v1 = conversion::convert(own, value, Version::V1).unwrap();
    let mut converted = conversion::convert(own, v1.clone(), to).unwrap();
    conversion::forget(&mut converted);
    let plain = to_yaml(&converted).unwrap();
    let with = Comments::of(&apis, text)
        .remove(0)
        .put_into(&plain, &v1, (own, to, &converted));
    assert_eq!(values(&with), values(&plain));
    with
}

const LIST: &str = "\
# Whose this is.
#
# And what for.

apiVersion: kubeflow.org/v1alpha1 # old
kind: MXJob
metadata:
  name: \"a # b\"   # a name
spec:
  # Who stays.
  cleanupPodPolicy: None
  replicaSpecs: # three
  # meets the others
  - mxReplicaType: SCHEDULER
    template:
      spec:
        containers:
        - name: mxnet
          image: a#b
          command: [\"sh\", \"-c\"] # a shell
          args:
          # is run
          - | # as it is
            # no comment
            echo # neither

            # nor this
          # to be read
          - it's # said
  - # learns
    template: {spec: {containers: [{name: mxnet, image: b}]}}
# the end
---
# of another
";

#[test]
fn they_stand_where_their_fields_are() {
    let text = carried(&LIST.replace("\"a # b\"", "\"a-b\""), Version::V1);
    for wanted in [
        "# Whose this is.\n#\n# And what for.\napiVersion: kubeflow.org/v1 # old\n",
        "  name: a-b # a name\n",
        "    # meets the others\n    Scheduler:\n",
        "            command: # a shell\n",
        "            # is run\n            - | # as it is\n              # no comment\n              echo # neither\n",
        "            # to be read\n            - it's # said\n",
        "    # learns\n    Worker:\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\nis not in\n{text}");
    }
    // What has no field of its own now stands above what it was in.
    let spec = text.find("\nspec:").unwrap();
    assert!(text.find("# Who stays.").unwrap() < spec, "{text}");
    assert!(text.ends_with("# the end\n"), "{text}");
    assert!(!text.contains("another"), "{text}");
    for comment in ["# old", "# a name", "# three", "# the end", "# learns"] {
        assert_eq!(text.matches(comment).count(), 1, "{comment}: {text}");
    }
}

#[test]
fn what_stands_above_the_first_marker_is_said_of_the_first_document() {
    let map = "apiVersion: kubeflow.org/v1\nkind: MXJob\nmetadata: {name: a}\nspec: {}\n";
    let text = format!("# Licence\n---\n# one\n{map}---\n# two\n{map}");
    let apis: Vec<_> = apis::<MxRole>().collect();
    let of = |at: usize| Comments::of(&apis, &text).remove(at).fields.remove(0).above;
    assert_eq!(of(0), ["# Licence", "# one"]);
    assert_eq!(of(1), ["# two"]);
}

#[test]
fn they_go_to_every_version() {
    let list = LIST.replace("\"a # b\"", "\"a-b\"");
    for to in Version::ALL {
        let there = carried(&list, to);
        assert!(there.contains("# meets the others\n"), "{there}");
        let back = carried(&there, Version::V1Alpha1);
        for wanted in [
            "  # meets the others\n  - replicas: 1\n",
            "  # learns\n  - replicas: 1\n",
        ] {
            assert!(back.contains(wanted), "{wanted}\nis not in\n{back}");
        }
    }
}

#[test]
fn a_sign_in_a_value_is_none() {
    for (line, wanted) in [
        ("a: b # c", Some("# c")),
        ("a: b#c", None),
        ("a: 'b # c'", None),
        ("a: 'it''s # c' # d", Some("# d")),
        (r#"a: "b \" # c" # d"#, Some("# d")),
        ("a: it's # c", Some("# c")),
        ("a: [\"b # c\", 'd'] # e", Some("# e")),
        ("a:\t# c", Some("# c")),
        ("a: 'b", None),
    ] {
        assert_eq!(beside(line, None).0, wanted, "{line}");
    }
    for (line, wanted) in [
        ("a: |", true),
        ("- >-", true),
        ("a: |2+ # c", true),
        ("a: b|", false),
        ("a: |b", false),
        ("a: 'x |", true),
    ] {
        assert_eq!(
            is_block_header(line, beside(line, None).0),
            wanted,
            "{line}"
        );
    }
}

#[test]
fn a_quoted_text_of_several_lines_has_none() {
    let list = LIST.replace(
        "  - it's # said",
        "  - \"one # two\n            # nine\n            four\"\n          - 'it''s\n            # five'\n          \
         - it's # said",
    );
    let text = carried(&list.replace("\"a # b\"", "\"a-b\""), Version::V1);
    let comments = |text: &str| {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| line.starts_with("# ") && !line.contains("neither"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for word in ["# nine", "# five"] {
        assert!(!comments(&text).iter().any(|line| line == word), "{text}");
    }
    assert!(text.contains("# said"), "{text}");
    assert!(text.contains("one # two # nine four"), "{text}");
}
