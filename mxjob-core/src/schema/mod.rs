//! The CustomResourceDefinition of a role set: names and columns, a structural schema, and every
//! admission rule in CEL.

mod bounds;
mod columns;
mod files;
mod generate;
mod older;
mod path;
mod place;
pub mod rule;
mod status;
mod suggest;
mod template;
#[cfg(test)]
mod tests;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion, CustomResourceSubresourceStatus, CustomResourceSubresources,
    CustomResourceValidation, JSONSchemaProps, ValidationRule,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::Version;
use crate::api::v1::{JobSpec, JobStatus};
use crate::role::{Mode, Role, RoleTable};
pub(crate) use bounds::PORTS;
pub use files::{Crds, GENERATED, crds};
use generate::Descriptions;
pub use older::{WEBHOOK_NAMESPACE, WEBHOOK_PATH, WEBHOOK_SERVICE};
pub use path::Path;
pub use place::Place;
use place::edit;
use rule::{Rule, Validation};
pub(crate) use suggest::suggestion;
pub(crate) use template::leave_open;

/// The CustomResourceDefinition of a role set.
pub fn crd(table: &'static RoleTable) -> CustomResourceDefinition {
    let names = table.crd;
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{}", names.plural, names.group)),
            ..ObjectMeta::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: names.group.to_owned(),
            names: CustomResourceDefinitionNames {
                kind: names.kind.to_owned(),
                list_kind: Some(format!("{}List", names.kind)),
                plural: names.plural.to_owned(),
                singular: Some(names.singular.to_owned()),
                short_names: Some(
                    names
                        .short_names
                        .iter()
                        .map(|&name| name.to_owned())
                        .collect(),
                ),
                categories: Some(vec!["all".to_owned()]),
            },
            scope: "Namespaced".to_owned(),
            versions: Version::of(table)
                .map(|version| definition(table, version))
                .collect(),
            conversion: older::conversion(table),
            ..CustomResourceDefinitionSpec::default()
        },
        status: None,
    }
}

fn definition(table: &'static RoleTable, version: Version) -> CustomResourceDefinitionVersion {
    let mut schema = of(table, version);
    leave_open(&mut schema, version);
    CustomResourceDefinitionVersion {
        name: version.name_in(table).to_owned(),
        served: true,
        storage: version == Version::stored(table),
        schema: Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema),
        }),
        subresources: Some(CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus(serde_json::json!({}))),
            scale: None,
        }),
        additional_printer_columns: Some(columns::printed(version)),
        selectable_fields: (version == Version::V1).then(columns::selectable),
        ..CustomResourceDefinitionVersion::default()
    }
}

/// The schema of the whole object at a version, as `lint` and the operator check it. What the
/// definition has of it knows less ([`leave_open`]).
pub(crate) fn of(table: &'static RoleTable, version: Version) -> JSONSchemaProps {
    match version {
        Version::V1Alpha1 => older::v1alpha1(table),
        Version::V1Beta1 => older::v1beta1(table),
        Version::V1 => schema(table),
    }
}

fn schema(table: &'static RoleTable) -> JSONSchemaProps {
    let mut root = without_rules(table);
    for rule in Rule::of(table) {
        attach(&mut root, &rule.validation(table));
    }
    root
}

fn without_rules(table: &'static RoleTable) -> JSONSchemaProps {
    let spec = generate::of::<JobSpec>(Descriptions::Kept);
    let mut root = whole(table, Version::V1, spec, status::schema::<JobStatus>());
    edit(&mut root, "spec.mxReplicaSpecs", &mut |node| {
        describe_roles(node, table);
    });
    bounds::apply(&mut root, table);
    root
}

/// The schema of an object of that spec and status.
fn whole(
    table: &RoleTable,
    version: Version,
    spec: JSONSchemaProps,
    status: JSONSchemaProps,
) -> JSONSchemaProps {
    let kind = table.crd.kind;
    let name = version.name_in(table);
    let mut root = object(&format!(
        "{kind} {name}: the replicas of a job and how they run together."
    ));
    let mut metadata = object("");
    // Rules may point at it only when it is in the schema.
    metadata.properties = Some([("name".to_owned(), typed("string"))].into());
    let fields = [
        ("apiVersion", typed("string")),
        ("kind", typed("string")),
        ("metadata", metadata),
        ("spec", spec),
        ("status", status),
    ];
    root.properties = Some(fields.map(|(name, node)| (name.to_owned(), node)).into());
    template::shorten(&mut root, version);
    root
}

/// The schema of any object's metadata, which the API server checks by itself.
pub(crate) fn metadata() -> JSONSchemaProps {
    generate::of::<ObjectMeta>(Descriptions::Dropped)
}

fn object(description: &str) -> JSONSchemaProps {
    let description = Some(description.to_owned()).filter(|text| !text.is_empty());
    JSONSchemaProps {
        description,
        ..typed("object")
    }
}

fn typed(name: &str) -> JSONSchemaProps {
    JSONSchemaProps {
        type_: Some(name.to_owned()),
        ..JSONSchemaProps::default()
    }
}

/// The roles are keys of a map, which has no place for descriptions: they go into the map's own.
fn describe_roles(node: &mut JSONSchemaProps, table: &RoleTable) {
    let role = |role: &Role| format!("{}: {}", role.name, role.doc.trim().replace('\n', " "));
    let mode = |mode: &Mode| {
        let roles = table.roles_of(mode.name).map(|id| role(table.role(id)));
        format!("{}:\n{}", mode.name, roles.collect::<Vec<_>>().join("\n"))
    };
    let parts = node
        .description
        .take()
        .into_iter()
        .chain(table.modes.iter().map(mode));
    node.description = Some(parts.collect::<Vec<_>>().join("\n\n"));
}

fn attach(root: &mut JSONSchemaProps, validation: &Validation) {
    for path in validation.place.paths() {
        edit(root, path, &mut |node| {
            node.x_kubernetes_validations
                .get_or_insert_default()
                .push(ValidationRule {
                    rule: validation.rule.clone(),
                    message: Some(validation.message.clone()),
                    message_expression: validation.message_expression.clone(),
                    field_path: validation.field_path.clone(),
                    optional_old_self: validation.sees_creation.then_some(true),
                    reason: None,
                });
        });
    }
}
