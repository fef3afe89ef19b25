//! Calls to an API server.

use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Job,
    Pod,
    Service,
    ConfigMap,
}

/// Which uid or resourceVersion a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// None.
    Any,
    /// That of the object.
    Current,
    /// Another one.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Only {
    pub(crate) uid: Pick,
    pub(crate) version: Pick,
}

#[derive(Clone, Debug)]
pub(crate) enum Verb {
    /// With a finalizer; owned by the job of that name; on a node (pods), with that grace period.
    Create {
        held: bool,
        owner: Option<&'static str>,
        on_node: bool,
    },
    Get,
    /// The whole object, with another label.
    Replace(u8, Only),
    /// Another label.
    Label(u8, Only),
    /// The finalizer is put there, or taken away.
    Hold(bool),
    /// What the user asks for.
    Spec(u8),
    /// The status: phase of a pod, restarts of a job.
    Status(u8, Only),
    Delete(Only, Option<u32>),
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    pub(crate) verb: Verb,
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("one"), 1 => Just("two")]
}

fn only() -> impl Strategy<Value = Only> {
    let pick =
        || prop_oneof![4 => Just(Pick::Any), 3 => Just(Pick::Current), 1 => Just(Pick::Other)];
    (pick(), pick()).prop_map(|(uid, version)| Only { uid, version })
}

fn verb() -> impl Strategy<Value = Verb> {
    let owner = prop_oneof![2 => Just(None), 2 => name().prop_map(Some)];
    let grace = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 2 => (1..40_u32).prop_map(Some)];
    let held = proptest::bool::weighted(0.3);
    prop_oneof![
        6 => (held, owner, any::<bool>())
            .prop_map(|(held, owner, on_node)| Verb::Create { held, owner, on_node }),
        1 => Just(Verb::Get),
        2 => (0..3_u8, only()).prop_map(|(label, only)| Verb::Replace(label, only)),
        2 => (0..3_u8, only()).prop_map(|(label, only)| Verb::Label(label, only)),
        3 => any::<bool>().prop_map(Verb::Hold),
        2 => (0..3_u8).prop_map(Verb::Spec),
        2 => (0..3_u8, only()).prop_map(|(value, only)| Verb::Status(value, only)),
        4 => (only(), grace).prop_map(|(only, grace)| Verb::Delete(only, grace)),
    ]
}

/// A case: 60 calls.
pub(crate) fn calls() -> impl Strategy<Value = Vec<Call>> {
    let kind = prop_oneof![
        3 => Just(Kind::Job),
        4 => Just(Kind::Pod),
        1 => Just(Kind::Service),
        1 => Just(Kind::ConfigMap),
    ];
    let call = (kind, name(), verb()).prop_map(|(kind, name, verb)| {
        // A ConfigMap has no status.
        let verb = match verb {
            Verb::Status(..) if kind == Kind::ConfigMap => Verb::Get,
            verb => verb,
        };
        Call { kind, name, verb }
    });
    proptest::collection::vec(call, 60)
}
