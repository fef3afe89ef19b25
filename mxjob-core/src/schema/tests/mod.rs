//! The schema and its rules, for MXNet's roles and for a made-up set.

mod jobs;
mod list;
mod parity;
mod shown;
mod templates;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

use super::rule::Rule;
use super::*;
use crate::role::{Crd, Mode, Port, RestartPolicy, Role, apis};
use crate::{MxRole, ReplicaRole};

/// A made-up set: other names, three modes, ranges, a role with a container of its own.
pub(crate) static FARM: RoleTable = RoleTable::new(
    &[
        Mode::new("Sow", &["Tractor"]),
        Mode::new("Reap", &["Combine", "Scythe"]).workers(&["Scythe"]),
        Mode::new("Rest", &["Dog"]),
    ],
    &[
        Role::new("Tractor", "Sow", 1, Some(1)),
        Role::new("Seeder", "Sow", 2, Some(4))
            .optional()
            .requires(&["Tractor"]),
        Role::new("Combine", "Reap", 0, Some(3))
            .optional()
            .default(0),
        Role::new("Scythe", "Reap", 0, None)
            .optional()
            .restart(&[RestartPolicy::OnFailure, RestartPolicy::Always])
            .container("blade"),
        Role::new("Dog", "Rest", 0, None).optional(),
    ],
)
.crd(Crd::new(
    "farm.example.com",
    "FieldWork",
    "fieldworks",
    "fieldwork",
    &["fw"],
))
.container("engine")
.port(Port::new("horn", 7000));

fn tables() -> [&'static RoleTable; 2] {
    [MxRole::TABLE, &FARM]
}

/// Every schema below `node` with its path.
fn each<'a>(
    node: &'a JSONSchemaProps,
    path: &str,
    visit: &mut dyn FnMut(&str, &'a JSONSchemaProps),
) {
    visit(path, node);
    for (name, below) in node.properties.iter().flatten() {
        each(below, &format!("{path}.{name}"), visit);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(below)) = &node.additional_properties {
        each(below, &format!("{path}.{{}}"), visit);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(below)) = &node.items {
        each(below, &format!("{path}.[]"), visit);
    }
}

#[test]
fn fits_into_the_annotation_of_a_client_side_apply() {
    let bytes = serde_json::to_string(&crd(MxRole::TABLE)).unwrap().len();
    let version = |version| {
        let definition = definition(MxRole::TABLE, version);
        serde_json::to_string(&definition).unwrap().len()
    };
    // The server takes 262,144 bytes of annotations; this is to be far from that.
    println!("{bytes} bytes, of {:?}", Version::ALL.map(version));
    assert!(bytes < 160_000, "{bytes} bytes");
}

#[test]
fn every_place_has_a_type_and_only_keywords_that_the_walk_knows() {
    let known: BTreeSet<&str> = [
        "type",
        "format",
        "description",
        "enum",
        "items",
        "additionalProperties",
        "properties",
        "required",
        "minimum",
        "maximum",
        "maxItems",
        "maxLength",
        "minProperties",
        "maxProperties",
        "x-kubernetes-int-or-string",
        "x-kubernetes-validations",
    ]
    .into();
    let older = [Version::V1Alpha1, Version::V1Beta1].map(|version| of(MxRole::TABLE, version));
    for root in tables().map(schema).iter().chain(&older) {
        each(root, "", &mut |path, node| {
            assert!(
                node.type_.is_some() != (node.x_kubernetes_int_or_string == Some(true)),
                "{path}: type"
            );
            let Value::Object(keywords) = serde_json::to_value(node).unwrap() else {
                panic!("{path}")
            };
            let unknown: Vec<_> = keywords
                .keys()
                .filter(|keyword| !known.contains(keyword.as_str()))
                .collect();
            assert!(unknown.is_empty(), "{path}: {unknown:?}");
        });
    }
}

#[test]
fn every_rule_and_bound_finds_its_place() {
    for table in tables() {
        let root = schema(table);
        let mut rules = 0;
        each(&root, "", &mut |_, node| {
            rules += node.x_kubernetes_validations.as_ref().map_or(0, Vec::len);
        });
        let wanted: usize = Rule::of(table)
            .iter()
            .map(|rule| rule.validation(table).place.paths().len())
            .sum();
        assert_eq!(rules, wanted);
    }
    let mut root = schema(MxRole::TABLE);
    for path in bounds::paths(MxRole::TABLE) {
        let mut found = false;
        edit(&mut root, &path, &mut |_| found = true);
        assert!(found, "{path}");
    }
}

#[test]
fn describes_every_own_field_and_role_but_nothing_in_the_template() {
    let root = schema(MxRole::TABLE);
    each(&root, "", &mut |path, node| {
        let described = node
            .description
            .as_ref()
            .is_some_and(|text| !text.is_empty());
        if path.starts_with(".spec.mxReplicaSpecs.{}.template.") {
            assert!(!described, "{path}");
        } else if path.starts_with(".spec") && !path.ends_with(']') && !path.ends_with('}') {
            assert!(described, "{path}");
        }
    });
    let mut text = String::new();
    let mut root = root;
    edit(&mut root, "spec.mxReplicaSpecs", &mut |node| {
        text = node.description.clone().unwrap_or_default();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn quantities_may_be_numbers() {
    let mut root = schema(MxRole::TABLE);
    let mut found = 0;
    for path in [
        "spec.mxReplicaSpecs.{}.template.spec.containers.[].resources.limits.{}",
        "spec.schedulingPolicy.minResources.{}",
    ] {
        edit(&mut root, path, &mut |node| {
            found += usize::from(node.x_kubernetes_int_or_string == Some(true));
        });
    }
    assert_eq!(found, 2);
}

// contract: 3.14
#[test]
fn a_status_of_any_shape_can_be_mended() {
    each(&status::schema::<JobStatus>(), "", &mut |path, node| {
        assert!(
            node.required.is_none() && node.format.is_none() && node.enum_.is_none(),
            "{path}"
        );
    });
}

// contract: 1.1, 1.2, 1.3, 1.4
// promise: P4, P6, P8
#[test]
fn names_and_columns_are_those_of_the_contract() {
    let mut crd = crd(MxRole::TABLE);
    for version in &mut crd.spec.versions {
        version.schema = None;
    }
    insta::assert_yaml_snapshot!(crd);
}

#[test]
fn the_file_holds_the_definition() {
    let files: Vec<_> = crds::<MxRole>().into_iter().collect();
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = [
        "kubeflow.org_mxjobs.yaml",
        "fioravanzo.org_mxjobs.yaml",
        "mxnet.mlkube.io_mxjobs.yaml",
    ];
    assert_eq!(names, wanted);
    for ((_, text), table) in files.iter().zip(apis::<MxRole>()) {
        assert!(
            text.starts_with("# Generated from the role table"),
            "{text:.80}"
        );
        let read: CustomResourceDefinition = serde_saphyr::from_str(text).unwrap();
        assert_eq!(read, crd(table));
    }
}

fn of_group(group: &str) -> &'static RoleTable {
    let mut tables = apis::<MxRole>();
    tables.find(|table| table.crd.group == group).unwrap()
}

// contract: 12.25
#[test]
fn the_resource_of_the_oldest_group_has_its_own_fields() {
    let table = of_group("mxnet.mlkube.io");
    let crd = crd(table);
    assert_eq!(crd.metadata.name.as_deref(), Some("mxjobs.mxnet.mlkube.io"));
    assert_eq!(crd.spec.names.kind, "MxJob");
    let [version] = crd.spec.versions.as_slice() else {
        panic!("one version")
    };
    let served = (version.name.as_str(), version.storage);
    assert_eq!(served, ("v1beta1", true));
    let (mut spec, mut status) = (BTreeSet::new(), BTreeSet::new());
    each(&of(table, Version::V1Alpha1), "", &mut |path, _| {
        let place = |start: &str, fields: &mut BTreeSet<String>| {
            let below = path.strip_prefix(start);
            fields.extend(
                below
                    .filter(|below| !below.contains(".template."))
                    .map(str::to_owned),
            );
        };
        place(".spec.", &mut spec);
        place(".status.", &mut status);
    });
    let wanted = [
        "RuntimeId",
        "jobMode",
        "replicaSpecs",
        "replicaSpecs.[]",
        "replicaSpecs.[].PsRootPort",
        "replicaSpecs.[].mxReplicaType",
        "replicaSpecs.[].replicas",
        "replicaSpecs.[].template",
    ];
    assert_eq!(spec, wanted.map(str::to_owned).into());
    for field in [
        "phase",
        "state",
        "reason",
        "controlPaused",
        "conditions.[].type",
        "conditions.[].reason",
        "conditions.[].transitionTime",
        "replicaStatuses.[].Mx_replica_type",
        "replicaStatuses.[].ReplicasStates",
        "replicaStatuses.[].state",
    ] {
        assert!(status.contains(field), "{field}: {status:?}");
    }
    assert!(!status.contains("replicaStatuses.[].mx_replica_type"));
    for other in ["kubeflow.org", "fioravanzo.org"] {
        each(
            &of(of_group(other), Version::V1Alpha1),
            "",
            &mut |path, _| {
                let own = [".status.conditions", ".status.controlPaused"];
                assert!(!own.contains(&path), "{other}");
            },
        );
    }
}

// contract: 12.21
#[test]
fn a_resource_of_an_older_group_has_one_version_with_its_own_fields() {
    let table = of_group("fioravanzo.org");
    let mut crd = crd(table);
    let bytes = serde_json::to_string(&crd).unwrap().len();
    println!("{bytes} bytes");
    assert!(bytes < 150_000, "{bytes} bytes");
    let schema = of(table, Version::V1Alpha1);
    let (mut paths, mut about) = (BTreeSet::new(), BTreeMap::new());
    each(&schema, "", &mut |path, node| {
        if !path.contains(".template.") {
            paths.insert(path.to_owned());
            about.insert(path.to_owned(), node.description.clone());
        }
    });
    for there in ["mxPort", "mxReplicaType", "replicas", "template"] {
        let path = format!(".spec.replicaSpecs.[].{there}");
        assert!(paths.contains(&path), "{paths:?}");
    }
    for gone in ["jobMode", "cleanupPodPolicy", "replicaSpecs.[].PsRootPort"] {
        assert!(!paths.contains(&format!(".spec.{gone}")), "{paths:?}");
    }
    let text = |field: &str| {
        about[&format!(".spec.replicaSpecs.[].{field}")]
            .clone()
            .unwrap()
    };
    assert!(
        text("mxPort").ends_with("default 9000."),
        "{}",
        text("mxPort")
    );
    assert!(text("mxReplicaType").ends_with("default SCHEDULER."));
    for version in &mut crd.spec.versions {
        version.schema = None;
    }
    insta::assert_yaml_snapshot!(crd);
}

/// The rules as the API server gets them; the same texts that a kube-apiserver 1.36 was shown to
/// accept.
fn listing(table: &'static RoleTable) -> String {
    let listed = |rule: Rule| {
        let Validation {
            place,
            rule: text,
            message,
            message_expression,
            field_path,
            ..
        } = rule.validation(table);
        let more = [
            ("messageExpression", message_expression),
            ("fieldPath", field_path),
        ];
        let more = more
            .into_iter()
            .filter_map(|(name, value)| Some(format!("   {name}: {}\n", value?)));
        let more: String = more.collect();
        format!(
            "## {} @ {place:?}\n   {text}\n   message: {message}\n{more}",
            label(rule)
        )
    };
    Rule::of(table).into_iter().map(listed).collect()
}

#[test]
fn rules_of_mxnet_in_cel() {
    insta::assert_snapshot!(listing(MxRole::TABLE));
}

#[test]
fn rules_of_another_set_in_cel() {
    insta::assert_snapshot!(listing(&FARM));
}

/// `ModeNeeds(MXTune)` instead of the whole table.
fn label(rule: Rule) -> String {
    match rule {
        Rule::ModeRoles(mode) => format!("ModeRoles({})", mode.name),
        Rule::ModeNeeds(mode) => format!("ModeNeeds({})", mode.name),
        Rule::ModeChief(mode) => format!("ModeChief({})", mode.name),
        other => format!("{other:?}"),
    }
}
