//! Conversion between the versions of a custom resource. Objects are stored at v1; the older
//! versions are views of them.
//!
//! Every older version has a way to v1 and a way back. Both may lose things; what they lose rides in
//! [`CONVERSION_ANNOTATION`], found by going there and back and looking what has changed:
//!
//! * A stored object holds what v1 cannot say of the spec that an older version was given.
//! * A view holds what its version cannot say of the stored object's spec and annotation.
//!
//! On the way back each difference is put where it was, unless that place has changed since: an edit
//! wins over what is held about the same place and leaves the rest alone. Conversion never fails on
//! an object of the resource, whatever its shape, and of its metadata only that annotation changes.
//!
//! The annotation names the version that the object was made at. A job made at v1alpha1 always has
//! it; one made at v1 or v1beta1 has it only when something is held. A view has it whenever the way
//! back would otherwise tell another story.
//!
//! # Status
//!
//! The status of a view is derived from the stored one, and the way back must give the stored one
//! again. The API server does not do that by itself: for a write of the main resource it takes the
//! status from the stored object *as the version of the request shows it*, and converts it back. So
//! what an older version cannot show of the stored status is a field of the view's status, `rest`,
//! and comes and goes with it. From this follows:
//!
//! * A patch, an apply, an update and a replace leave the stored status as it was, whatever becomes
//!   of the annotation; the annotation says nothing of a status.
//! * A status write at an older version changes what that version can say.
//! * Who replaces an object without the annotation takes what its spec held there. A job made at v1
//!   that is replaced so by a v1alpha1 manifest counts as made at v1alpha1.
//! * The annotations of an object have room for 256 KiB. Where what a version cannot show of a spec
//!   is more than that, the API server refuses the view, not the stored object.

mod held;
mod phase;
mod place;
mod port;
mod rest;
mod review;
mod runtime_id;
mod said;
mod sections;
mod stored;
mod v1alpha1;
mod v1beta1;

pub use held::{CONVERSION_ANNOTATION, forget};
pub(crate) use place::as_made;
pub use place::path_before;
pub use port::Ports;
pub use review::review;
pub(crate) use runtime_id::LENGTH as ID_LENGTH;
pub(crate) use said::Said;
pub use stored::Stored;

use serde_json::{Map, Value};

use crate::api::Version;
use crate::role::{Legacy, ListForm, RoleTable};
use held::{Held, rest_of};
use rest::{apply, diff};
use sections::{REST, STATUS, Sections};

/// Why a value is no object of a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Foreign {
    /// It has no fields.
    #[error("it is no object")]
    NoObject,
    /// It is of another group, kind or version, or one that the resource does not have is asked for.
    #[error("{field} must be one of {known}, it is {found:?}")]
    Other {
        /// What says so.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it may say.
        known: String,
    },
}

/// Converts a whole object of the resource of `table`.
pub fn convert(table: &'static RoleTable, object: Value, to: Version) -> Result<Value, Foreign> {
    let Value::Object(mut object) = object else {
        return Err(Foreign::NoObject);
    };
    let from = version(table, &object)?;
    let target = Older::of(table, to, &object);
    if Version::known(table).all(|known| known != to) {
        return Err(foreign(table, "desiredAPIVersion", &to.full(table)));
    }
    if from == to {
        return Ok(Value::Object(object));
    }
    if let Some(older) = Older::of(table, from, &object) {
        older.raise(table, &mut object);
    }
    if let Some(older) = target {
        older.lower(table, &mut object);
    }
    object.insert("apiVersion".to_owned(), to.full(table).into());
    Ok(Value::Object(object))
}

/// Makes the v1 form of a job of another API of the role set one of the resource of `table`.
pub fn adopt(table: &RoleTable, object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Version::V1.full(table).into());
        fields.insert("kind".to_owned(), table.crd.kind.into());
    }
}

/// The version that an object of the resource of `table` is at.
fn version(table: &RoleTable, object: &Map<String, Value>) -> Result<Version, Foreign> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind") != table.crd.kind {
        return Err(Foreign::Other {
            field: "kind",
            found: text("kind").to_owned(),
            known: table.crd.kind.to_owned(),
        });
    }
    Version::read(table, text("apiVersion"))
        .ok_or_else(|| foreign(table, "apiVersion", text("apiVersion")))
}

fn foreign(table: &RoleTable, field: &'static str, found: &str) -> Foreign {
    let known: Vec<_> = Version::of(table)
        .map(|version| version.full(table))
        .collect();
    Foreign::Other {
        field,
        found: found.to_owned(),
        known: known.join(", "),
    }
}

/// A version before v1.
enum Older {
    V1Alpha1 {
        form: ListForm,
        /// Of the object; empty: it has none yet.
        uid: String,
    },
    V1Beta1(&'static Legacy),
}

impl Older {
    /// `None`: it is v1, or the resource has no such version.
    fn of(table: &RoleTable, version: Version, object: &Map<String, Value>) -> Option<Self> {
        let uid = object
            .get("metadata")
            .and_then(|meta| meta.get("uid")?.as_str());
        let uid = uid.unwrap_or_default().to_owned();
        match version {
            Version::V1Alpha1 => table.list_form().map(|form| Self::V1Alpha1 { form, uid }),
            Version::V1Beta1 => table.crd.legacy.map(Self::V1Beta1),
            Version::V1 => None,
        }
    }

    fn version(&self) -> Version {
        match self {
            Self::V1Alpha1 { .. } => Version::V1Alpha1,
            Self::V1Beta1(_) => Version::V1Beta1,
        }
    }

    /// Shows the defaults of a job that was made at `origin`. What is shown already stays.
    fn fill(&self, table: &RoleTable, origin: Version, content: &mut Sections) {
        match self {
            Self::V1Alpha1 { form, .. } => v1alpha1::fill(table, form, content),
            Self::V1Beta1(_) => v1beta1::fill(table, origin, content),
        }
    }

    /// The lossy way to v1.
    fn up(&self, table: &RoleTable, content: &Sections) -> Sections {
        match self {
            Self::V1Alpha1 { form, .. } => v1alpha1::up(table, form, content),
            Self::V1Beta1(legacy) => v1beta1::up(legacy, content),
        }
    }

    /// The lossy way from v1 of all but the status, with the defaults shown.
    fn down(&self, table: &RoleTable, origin: Version, v1: &Sections) -> Sections {
        match self {
            Self::V1Alpha1 { form, .. } => v1alpha1::down(table, form, v1),
            Self::V1Beta1(_) => v1beta1::down(table, origin, v1),
        }
    }

    /// The status of `v1` in the words of this version, for a job that is shown as `content`.
    fn status(&self, table: &RoleTable, v1: &Sections, content: &Sections) -> Option<Value> {
        let status = v1.get(sections::STATUS)?;
        Some(match (self, status) {
            (_, status) if !status.is_object() => status.clone(),
            (Self::V1Alpha1 { form, .. }, status) => phase::down(table, form, v1, content, status),
            (Self::V1Beta1(_), status) => v1beta1::status(status),
        })
    }

    /// What v1 cannot say of `content` when it gives `back`. The status is not the user's to keep.
    fn lost(&self, back: &Sections, content: &Sections) -> Map<String, Value> {
        let mut lost = diff(back, content);
        lost.retain(|leaf| leaf.section() != STATUS);
        rest_of(self.version(), lost)
    }

    /// Makes an object of this version one of v1.
    fn raise(&self, table: &RoleTable, object: &mut Map<String, Value>) {
        let held = Held::take(object);
        // No conversion has put it on an object of a resource that is served at one version.
        let held = held.filter(|_| table.crd.alone.is_none());
        let mut held = held.unwrap_or_else(|| Held::nothing(self.version()));
        let (of_rest, of_content): (Vec<_>, Vec<_>) = held
            .take_leaves(Version::V1)
            .into_iter()
            .partition(|leaf| leaf.section() == REST);
        let mut content = sections::take(table, self.version(), object);
        let of_status = held::take_status(&mut content);
        if let Self::V1Alpha1 { uid, .. } = self
            && held.origin == Version::V1Alpha1
        {
            runtime_id::fill(uid, &mut content);
        }
        self.fill(table, held.origin, &mut content);
        let mut v1 = self.up(table, &content);
        // An annotation is anybody's to write, a status is not.
        let of_content = of_content.into_iter();
        let of_content = of_content.filter(|leaf| leaf.section() != STATUS);
        apply(of_content.chain(of_status), &mut v1);
        let v1 = sections::settled(table, Version::V1, v1);
        let lost = self.lost(&self.down(table, held.origin, &v1), &content);
        let mut rest = Sections::from_iter([(REST.to_owned(), Value::Object(lost))]);
        apply(of_rest, &mut rest);
        sections::put(table, Version::V1, v1, object);
        let rest = match rest.shift_remove(REST) {
            Some(Value::Object(rest)) => rest,
            _ => Map::new(),
        };
        if held.origin == Version::V1Alpha1 || !rest.is_empty() {
            Held { rest, ..held }.put(object);
        }
    }

    /// Makes an object of v1 one of this version.
    fn lower(&self, table: &RoleTable, object: &mut Map<String, Value>) {
        let held = Held::take(object).unwrap_or_else(|| Held::nothing(Version::V1));
        let mut v1 = sections::take(table, Version::V1, object);
        let shown = self.down(table, held.origin, &v1);
        let leaves = held.leaves(self.version());
        let (mut content, lost) = if leaves.is_empty() {
            // What is shown has its defaults and stands as it does in an object.
            let content = sections::settled(table, self.version(), shown);
            (content, Map::new())
        } else {
            let mut content = shown.clone();
            apply(leaves, &mut content);
            self.fill(table, held.origin, &mut content);
            let content = sections::settled(table, self.version(), content);
            let lost = self.lost(&shown, &content);
            (content, lost)
        };
        if let Some(status) = self.status(table, &v1, &content) {
            content.insert(STATUS.to_owned(), status);
        }
        let mut back = self.up(table, &content);
        back.insert(REST.to_owned(), Value::Object(lost));
        v1.insert(REST.to_owned(), Value::Object(held.rest));
        let (of_status, rest): (Vec<_>, Vec<_>) = diff(&back, &v1)
            .into_iter()
            .partition(|leaf| leaf.section() == STATUS);
        held::put_status(of_status, &mut content);
        if let Self::V1Alpha1 { uid, .. } = self
            && held.origin == Version::V1Alpha1
        {
            runtime_id::fill(uid, &mut content);
        }
        let rest = rest_of(Version::V1, rest);
        sections::put(table, self.version(), content, object);
        if held.origin != self.version() || !rest.is_empty() {
            Held { rest, ..held }.put(object);
        }
    }
}
