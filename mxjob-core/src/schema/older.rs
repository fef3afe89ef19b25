//! The versions before `v1`: their schemas, and how the API server gets from one to another.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, JSONSchemaProps, ServiceReference, WebhookClientConfig,
    WebhookConversion,
};

use super::generate::{self, Descriptions};
use super::place::edit;
use super::rule::{Fields, ListRule, Rule, cel};
use super::{attach, bounds, describe_roles, status, whole};
use crate::api::{Version, v1alpha1, v1beta1};
use crate::role::{JobMode, ListForm, RoleTable};

/// Where the service of the operator's webhook is, until an operator says that it is elsewhere.
pub const WEBHOOK_NAMESPACE: &str = "mxjob-system";
/// The service of the operator's webhook.
pub const WEBHOOK_SERVICE: &str = "mxjob-webhook";
/// The path at which it converts.
pub const WEBHOOK_PATH: &str = "/convert";

/// How the API server converts; `None`: there is but one version.
pub(super) fn conversion(table: &RoleTable) -> Option<CustomResourceConversion> {
    let service = ServiceReference {
        namespace: WEBHOOK_NAMESPACE.to_owned(),
        name: WEBHOOK_SERVICE.to_owned(),
        path: Some(WEBHOOK_PATH.to_owned()),
        port: Some(443),
    };
    let webhook = WebhookConversion {
        client_config: Some(WebhookClientConfig {
            service: Some(service),
            ..WebhookClientConfig::default()
        }),
        conversion_review_versions: vec!["v1".to_owned()],
    };
    (Version::of(table).count() > 1).then(|| CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(webhook),
    })
}

/// The schema of a `v1beta1` object.
pub(super) fn v1beta1(table: &'static RoleTable) -> JSONSchemaProps {
    let mut root = v1beta1_without_rules(table);
    let fields = Fields::of(&mut root);
    for validation in Rule::of_v1beta1(table, &fields) {
        attach(&mut root, &validation);
    }
    root
}

pub(super) fn v1beta1_without_rules(table: &'static RoleTable) -> JSONSchemaProps {
    let spec = generate::of::<v1beta1::JobSpec>(Descriptions::Kept);
    let status = status::schema::<v1beta1::JobStatus>();
    let mut root = whole(table, Version::V1Beta1, spec, status);
    edit(&mut root, "spec.mxReplicaSpecs", &mut |node| {
        describe_roles(node, table);
    });
    bounds::apply(&mut root, table);
    root
}

/// The schema of a `v1alpha1` object.
pub(super) fn v1alpha1(table: &'static RoleTable) -> JSONSchemaProps {
    let mut root = v1alpha1_without_rules(table);
    for rule in ListRule::of(table) {
        attach(&mut root, &rule.validation(table));
    }
    root
}

pub(super) fn v1alpha1_without_rules(table: &RoleTable) -> JSONSchemaProps {
    let spec = generate::of::<v1alpha1::JobSpec>(Descriptions::Kept);
    let status = status::schema::<v1alpha1::JobStatus>();
    let mut root = whole(table, Version::V1Alpha1, spec, status);
    bounds::apply_to_list(&mut root, table);
    if let Some(form) = table.list_form() {
        put_into_words(&mut root, table, form);
    }
    root
}

/// The fields that the resource has, as it calls them, with what they are by default.
fn put_into_words(root: &mut JSONSchemaProps, table: &RoleTable, form: ListForm) {
    edit(root, "spec", &mut |spec| {
        let fields = spec.properties.as_mut().into_iter();
        fields.for_each(|fields| fields.retain(|field, _| form.has(field)));
    });
    edit(root, "status", &mut |status| {
        let fields = status.properties.as_mut().into_iter();
        fields.for_each(|fields| fields.retain(|field, _| form.shows(field)));
    });
    edit(root, "status.replicaStatuses.[]", &mut |entry| {
        let fields = entry.properties.get_or_insert_default();
        let role = fields.remove(v1alpha1::STATUS_ROLE);
        fields.extend(role.map(|role| (form.legacy.status_role.to_owned(), role)));
    });
    if form.legacy.job_mode == JobMode::Needed {
        edit(root, "spec.jobMode", &mut |node| {
            node.description = Some("dist: with servers; local: one worker.".to_owned());
        });
    }
    let role = |id| table.role(id).name.to_ascii_uppercase();
    let roles: Vec<_> = table.listed_roles().map(role).collect();
    let kind = format!(
        "{}; default {}.",
        cel::either(roles.iter().map(String::as_str)),
        role(form.entry)
    );
    let port = table.port.number;
    let port = format!("The port that the scheduler listens on; default {port}.");
    edit(root, "spec.replicaSpecs.[]", &mut |entry| {
        let Some(fields) = &mut entry.properties else {
            return;
        };
        if let Some(node) = fields.get_mut("mxReplicaType") {
            node.description = Some(kind.clone());
        }
        if let Some(mut node) = fields.remove(v1alpha1::PORT_FIELD) {
            node.description = Some(port.clone());
            fields.insert(form.legacy.port_field.to_owned(), node);
        }
    });
}
