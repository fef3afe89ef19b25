//! What a role says and costs in the CustomResourceDefinition, which every client-side apply stores twice.

use mxjob_core::{MxRole, ReplicaRole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
enum Plain {
    #[role(extend)]
    Mx(MxRole),
    /// Looks at it.
    #[role(mode = MXTrain, replicas = 0.., optional)]
    Looker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
enum Bounded {
    #[role(extend)]
    Mx(MxRole),
    /// Looks at it.
    #[role(mode = MXTrain, replicas = 0..=1, optional, restart = [OnFailure])]
    Looker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ReplicaRole)]
enum Tuning {
    #[role(extend)]
    Mx(MxRole),
    /// Looks at it.
    #[role(mode = MXTune, replicas = 0.., optional)]
    Looker,
}

/// The definition at all versions.
fn text<R: ReplicaRole>() -> String {
    serde_json::to_string(&mxjob_core::schema::crd(R::TABLE)).unwrap()
}

/// Bytes that the set `R` adds, without the names and descriptions of its new role.
fn added<R: ReplicaRole>() -> usize {
    let (new, old) = (text::<R>(), text::<MxRole>());
    let names = new.to_lowercase().matches("looker").count() * "looker".len();
    let doc = "Looks at it.";
    new.len() - old.len() - names - new.matches(doc).count() * doc.len()
}

#[test]
fn one_more_role_adds_less_than_100_bytes_beside_its_own_text() {
    let plain = [added::<Plain>(), added::<Tuning>()];
    println!("plain {plain:?}, bounded {}", added::<Bounded>());
    assert!(plain.iter().all(|bytes| *bytes < 100), "{plain:?} bytes");
}

#[test]
fn doc_comments_describe_the_roles() {
    let schema = mxjob_core::schema::crd(Plain::TABLE)
        .spec
        .versions
        .into_iter()
        .find(|version| version.storage)
        .and_then(|version| version.schema)
        .unwrap();
    let spec = schema
        .open_api_v3_schema
        .unwrap()
        .properties
        .unwrap()
        .remove("spec")
        .unwrap();
    let roles = spec
        .properties
        .unwrap()
        .remove("mxReplicaSpecs")
        .unwrap()
        .description
        .unwrap();
    assert!(
        roles.contains("Server: Holds the parameters.") && roles.contains("Looker: Looks at it."),
        "{roles}"
    );
}
