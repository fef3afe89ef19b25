//! The role set as it was declared: what the attributes say, put beside the enum's variants.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Data, DataEnum, DeriveInput, Fields, Ident, Type, Variant};

use crate::attr::{Mode, RoleKeys, RoleRef, SetKeys};
use crate::errors::Errors;

/// A set of roles.
#[derive(Debug)]
pub(crate) struct RoleSet {
    /// The enum.
    pub(crate) ident: Ident,
    pub(crate) keys: SetKeys,
    /// The roles of its own.
    pub(crate) roles: Vec<Role>,
    /// The sets that it extends.
    pub(crate) bases: Vec<Base>,
}

/// A set that is extended.
#[derive(Debug)]
pub(crate) struct Base {
    /// The variant.
    pub(crate) ident: Ident,
    /// The enum that it holds.
    pub(crate) set: Type,
    /// How many roles of its own the extension declares before it.
    pub(crate) after: usize,
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
        let keys = SetKeys::read(&input.attrs, &mut errors).unwrap_or_default();
        let (mut roles, mut bases) = (Vec::new(), Vec::new());
        match &input.data {
            Data::Enum(data) => {
                whole(input, data, &mut errors);
                for variant in &data.variants {
                    let keys = RoleKeys::read(&variant.attrs, &mut errors);
                    if keys.extend.is_present() {
                        bases.extend(base(variant, roles.len(), &mut errors));
                    } else {
                        roles.push(role(variant, keys, &mut errors));
                    }
                }
            }
            Data::Struct(data) => errors.at(data.struct_token, NOT_AN_ENUM),
            Data::Union(data) => errors.at(data.union_token, NOT_AN_ENUM),
        }
        errors.finish(Self {
            ident: input.ident.clone(),
            keys,
            roles,
            bases,
        })
    }

    /// The base set whose role a reference names.
    pub(crate) fn base_of(&self, reference: &RoleRef) -> Option<&Base> {
        let variant = reference.base.as_ref()?;
        self.bases.iter().find(|base| base.ident == *variant)
    }

    /// The role of its own that a reference names.
    pub(crate) fn find(&self, reference: &RoleRef) -> Option<&Role> {
        self.roles.iter().find(|role| reference.names(&role.ident))
    }

    /// The declared mode of a role.
    pub(crate) fn mode_of(&self, role: &Role) -> Option<&Mode> {
        let name = role.keys.mode.as_ref()?;
        self.keys.modes.iter().find(|mode| mode.name == *name)
    }

    /// The mode of a role, when it may be one: declared here, or left to a base set.
    pub(crate) fn mode_name<'a>(&'a self, role: &'a Role) -> Option<&'a Ident> {
        role.keys.mode.as_ref().filter(|mode| self.has_mode(mode))
    }

    /// True for a mode that is declared here, and for every other one when a base set may have it.
    pub(crate) fn has_mode(&self, name: &Ident) -> bool {
        !self.bases.is_empty() || self.keys.modes.iter().any(|mode| mode.name == *name)
    }

    /// The roles of a mode.
    pub(crate) fn roles_of<'a>(&'a self, mode: &'a Mode) -> impl Iterator<Item = &'a Role> {
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

fn base(variant: &Variant, after: usize, errors: &mut Errors) -> Option<Base> {
    let ident = variant.ident.clone();
    if let Fields::Unnamed(fields) = &variant.fields
        && fields.unnamed.len() == 1
    {
        let set = fields.unnamed.first()?.ty.clone();
        return Some(Base { ident, set, after });
    }
    let fields = &variant.fields;
    let message =
        format!("`extend` needs a variant with exactly one base set: write `{ident}(MxRole)`");
    errors.at(quote!(#ident #fields), message);
    None
}

fn role(variant: &Variant, keys: RoleKeys, errors: &mut Errors) -> Role {
    let ident = &variant.ident;
    if !matches!(variant.fields, Fields::Unit) {
        let message =
            format!("role `{ident}` holds data: remove it, or mark the variant `#[role(extend)]`");
        errors.at(&variant.fields, message);
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
