//! The role set as it was declared: what the attributes say, put beside the enum's variants.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Data, DataEnum, DeriveInput, Fields, Ident, Variant};

use crate::attr::{ModeKeys, RoleKeys, RoleRef, SetKeys};
use crate::errors::Errors;

/// A set of roles.
#[derive(Debug)]
pub(crate) struct RoleSet {
    /// The enum.
    pub(crate) ident: Ident,
    pub(crate) keys: SetKeys,
    pub(crate) roles: Vec<Role>,
}

/// One role of the set's own.
#[derive(Debug)]
pub(crate) struct Role {
    /// The variant.
    pub(crate) ident: Ident,
    /// The name in manifests.
    pub(crate) name: String,
    pub(crate) keys: RoleKeys,
}

impl RoleSet {
    /// Reads the enum: mistakes that can be seen without comparing one part with another.
    pub(crate) fn read(input: &DeriveInput) -> syn::Result<Self> {
        let mut errors = Errors::default();
        let keys = SetKeys::read(&input.attrs, &mut errors);
        let mut roles = Vec::new();
        match &input.data {
            Data::Enum(data) => {
                whole(input, data, &mut errors);
                roles.extend(
                    data.variants
                        .iter()
                        .map(|variant| role(variant, &mut errors)),
                );
            }
            Data::Struct(data) => errors.at(data.struct_token, NOT_AN_ENUM),
            Data::Union(data) => errors.at(data.union_token, NOT_AN_ENUM),
        }
        errors.finish(Self {
            ident: input.ident.clone(),
            keys,
            roles,
        })
    }

    /// The role that a reference names.
    pub(crate) fn find(&self, reference: &RoleRef) -> Option<&Role> {
        self.roles.iter().find(|role| reference.names(&role.ident))
    }

    /// The declared mode of a role.
    pub(crate) fn mode_of(&self, role: &Role) -> Option<&ModeKeys> {
        let name = role.keys.mode.as_ref()?;
        self.keys.modes.iter().find(|mode| mode.name == *name)
    }

    /// The roles of a mode.
    pub(crate) fn roles_of<'a>(&'a self, mode: &'a ModeKeys) -> impl Iterator<Item = &'a Role> {
        self.roles
            .iter()
            .filter(|role| role.keys.mode.as_ref() == Some(&mode.name))
    }
}

impl Role {
    /// What gives the role its name in manifests, to underline.
    pub(crate) fn named_by(&self) -> TokenStream {
        match &self.keys.rename {
            Some(rename) => rename.to_token_stream(),
            None => self.ident.to_token_stream(),
        }
    }

    /// Fewest replicas of the role when a job has it; of one that does not say, one.
    pub(crate) fn fewest(&self) -> u32 {
        self.keys
            .replicas
            .as_ref()
            .map_or(1, |replicas| replicas.value.min)
    }
}

const NOT_AN_ENUM: &str = "`ReplicaRole` needs an enum: write `enum` with one variant a role";

fn whole(input: &DeriveInput, data: &DataEnum, errors: &mut Errors) {
    if !input.generics.params.is_empty() {
        errors.at(
            &input.generics,
            "`ReplicaRole` needs an enum without parameters: remove these",
        );
    }
    if data.variants.is_empty() {
        errors.at(
            &input.ident,
            format!("`{}` has no role: add at least one variant", input.ident),
        );
    }
}

fn role(variant: &Variant, errors: &mut Errors) -> Role {
    let keys = RoleKeys::read(&variant.attrs, errors);
    let ident = &variant.ident;
    match (&keys.extend, &variant.fields) {
        (None, Fields::Unit) => {}
        (None, fields) => {
            let message = format!(
                "role `{ident}` holds data: remove it, or mark the variant `#[role(extend)]`"
            );
            errors.at(fields, message);
        }
        (Some(key), Fields::Unnamed(fields)) if fields.unnamed.len() == 1 => {
            errors.at(key, "`extend`: extending a role set is not supported yet");
        }
        (Some(_), fields) => {
            let message = format!(
                "`extend` needs a variant with exactly one base set: write `{ident}(MxRole)`"
            );
            let fields = fields.to_token_stream();
            errors.at(quote!(#ident #fields), message);
        }
    }
    let name = match &keys.rename {
        Some(rename) => rename.value(),
        None => ident.unraw().to_string(),
    };
    Role {
        ident: ident.clone(),
        name,
        keys,
    }
}
