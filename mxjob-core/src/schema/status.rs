//! The schema of the status: types only. Whatever an older operator left there, the next write of
//! the status must go through.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use schemars::JsonSchema;

use super::generate::{self, Descriptions};
use super::place::edit;

/// More conditions than any operator ever wrote.
const CONDITIONS: i64 = 64;

pub(super) fn schema<T: JsonSchema>() -> JSONSchemaProps {
    let mut schema = generate::of::<T>(Descriptions::Kept);
    loosen(&mut schema);
    // The rule about templates looks through them; a job has one of each type.
    edit(&mut schema, "conditions", &mut |node| {
        node.max_items = Some(CONDITIONS);
    });
    schema
}

fn loosen(node: &mut JSONSchemaProps) {
    node.required = None;
    node.format = None;
    node.properties
        .iter_mut()
        .flat_map(|fields| fields.values_mut())
        .for_each(loosen);
    if let Some(JSONSchemaPropsOrBool::Schema(below)) = &mut node.additional_properties {
        loosen(below);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(below)) = &mut node.items {
        loosen(below);
    }
}
