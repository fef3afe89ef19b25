//! What the operator asks of the API server, as one table, and the roles that allow just that.
//!
//! Whoever adds a request adds its right here. A test joins the server's audit log with these roles:
//! a verb that is denied and a verb that nobody uses both fail it.
//!
//! The build script of `deploy` includes this file: it knows the role table and nothing else.

use mxjob_core::api::Version;
use mxjob_core::role::{Children, RoleTable};
use serde_json::{Map, Value, json};

/// Name of the service account, of the roles and of their bindings.
pub(crate) const NAME: &str = "mxjob-operator";
/// The Lease that operators elect their leader by, unless they are told another name.
pub(crate) const LEASE: &str = "mxjob-operator";

/// The Secret that operators keep the webhook's certificate in, unless they are told another name.
pub(crate) const SECRET: &str = "mxjob-webhook";

/// Where a right is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Of something that is in no namespace.
    Cluster,
    /// Where the jobs are: everywhere, or in the namespaces that are named.
    Jobs,
    /// In the operator's own namespace.
    Own,
}

/// What a right is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Looking after jobs.
    Jobs,
    /// Pointing a definition at the conversion webhook, and reading its certificate.
    Webhook,
    /// Making that certificate.
    Certificate,
    /// Installing definitions.
    Install,
    /// Electing a leader.
    Election,
}

/// A right: these verbs on one resource, or on those of its objects that are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    /// The API group of the jobs that it is about; `None`: it is needed whatever they are.
    pub(crate) api: Option<&'static str>,
    pub(crate) place: Place,
    pub(crate) part: Part,
    group: &'static str,
    resource: String,
    /// Of objects; none: of all.
    names: Vec<String>,
    verbs: Vec<&'static str>,
}

impl Right {
    fn new(
        (place, part): (Place, Part),
        group: &'static str,
        resource: &str,
        verbs: &[&'static str],
    ) -> Self {
        Self {
            api: None,
            place,
            part,
            group,
            resource: resource.to_owned(),
            names: Vec::new(),
            verbs: verbs.to_vec(),
        }
    }

    fn of(self, api: &'static str) -> Self {
        Self {
            api: Some(api),
            ..self
        }
    }

    fn named(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            names: names.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// As a rule of a role.
    pub(crate) fn rule(&self) -> Value {
        let mut rule = Map::new();
        rule.insert("apiGroups".to_owned(), json!([self.group]));
        rule.insert("resources".to_owned(), json!([self.resource]));
        if !self.names.is_empty() {
            rule.insert("resourceNames".to_owned(), json!(self.names));
        }
        rule.insert("verbs".to_owned(), json!(self.verbs));
        Value::Object(rule)
    }
}

const ALL: &[&str] = &["create", "delete", "get", "list", "patch", "watch"];
const HERE: (Place, Part) = (Place::Jobs, Part::Jobs);
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// The Deployments of other operators that may look after the jobs of a definition, which the operator
/// looks for before it starts: older ones, and this one in another place.
const OLDER: [(&str, &[&str]); 4] = [
    (
        "mx-job-operator",
        &["kubeflow.org", "fioravanzo.org", "mxnet.mlkube.io"],
    ),
    ("mxnet-operator", &["kubeflow.org"]),
    ("training-operator", &["kubeflow.org"]),
    (
        "mxjob-operator",
        &["kubeflow.org", "fioravanzo.org", "mxnet.mlkube.io"],
    ),
];

/// Every right that an operator can need which looks after the jobs of these APIs, in the order in
/// which a reader asks for them.
pub(crate) fn rights(apis: &[&'static RoleTable]) -> Vec<Right> {
    let own = |table: &&'static RoleTable| of_api(table);
    let mut all: Vec<_> = apis.iter().flat_map(own).collect();
    all.push(Right::new(
        HERE,
        "events.k8s.io",
        "events",
        // A series of the same event is a patch of the first.
        &["create", "patch"],
    ));
    let election = (Place::Own, Part::Election);
    let lease = |verbs| Right::new(election, "coordination.k8s.io", "leases", verbs);
    all.push(lease(&["get", "patch"]).named([LEASE]));
    // A name is of no account for what is not there yet.
    all.push(lease(&["create"]));
    all
}

fn of_api(table: &'static RoleTable) -> Vec<Right> {
    let crd = table.crd;
    let (group, plural) = (crd.group, crd.plural);
    let jobs: &[&str] = match crd.alone {
        // Defaults are stored; there is no time to live, at whose end a job is deleted.
        Some(_) => &["get", "list", "patch", "watch"],
        None => &["delete", "get", "list", "watch"],
    };
    // What the first operator of such an API has left has no owner, and gets one.
    let services: &[&str] = match table.children() {
        Children::Jobs => ALL,
        _ => &["create", "delete", "get", "list", "watch"],
    };
    let config_maps = &["create", "delete", "get", "list", "watch"];
    let mut all = vec![
        Right::new(HERE, group, plural, jobs),
        Right::new(HERE, group, &format!("{plural}/status"), &["patch"]),
        // Never asked for: where the server has OwnerReferencesPermissionEnforcement, as OpenShift has, who
        // makes an object whose owner is not to be deleted before it needs the right to delay the owner.
        Right::new(HERE, group, &format!("{plural}/finalizers"), &["update"]),
    ];
    if table.children() == Children::Jobs {
        all.push(Right::new(HERE, "batch", "jobs", ALL));
        // Those that lack the labels by which they are found get them.
        all.push(Right::new(HERE, "", "pods", &["list", "patch", "watch"]));
    } else {
        all.push(Right::new(HERE, "", "pods", ALL));
    }
    all.push(Right::new(HERE, "", "services", services));
    all.push(Right::new(HERE, "", "configmaps", config_maps));
    let older = OLDER.iter().filter(|(_, groups)| groups.contains(&group));
    let older: Vec<_> = older.map(|(name, _)| *name).collect();
    if !older.is_empty() {
        // One in another namespace may look after the same jobs.
        let everywhere = (Place::Cluster, Part::Jobs);
        all.push(Right::new(everywhere, "apps", "deployments", &["list"]).named(older));
    }
    let definition = |part, verbs| {
        let right = Right::new((Place::Cluster, part), DEFINITIONS.0, DEFINITIONS.1, verbs);
        right.named([format!("{plural}.{group}")])
    };
    if Version::of(table).count() > 1 {
        all.push(definition(Part::Webhook, &["list", "patch", "watch"]));
        let secret =
            |part, verbs| Right::new((Place::Own, part), "", "secrets", verbs).named([SECRET]);
        all.push(secret(Part::Webhook, &["list", "watch"]));
        // An apply is a create of that name, where a create is one of any.
        all.push(secret(Part::Certificate, &["create", "patch"]));
    }
    // Server-side apply of what is not there yet asks for `create` of that name.
    all.push(definition(Part::Install, &["create", "get", "patch"]));
    all.into_iter().map(|right| right.of(group)).collect()
}

/// An operator whose roles are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Install<'a> {
    /// What it looks after.
    pub(crate) apis: &'a [&'static RoleTable],
    /// Where; none: everywhere.
    pub(crate) namespaces: &'a [String],
    /// Where it is itself.
    pub(crate) own: &'a str,
    /// What it does.
    pub(crate) parts: &'a [Part],
    /// The Lease that it is elected by.
    pub(crate) lease: &'a str,
    /// The Secret with its webhook's certificate.
    pub(crate) secret: &'a str,
}

impl Install<'_> {
    /// Its roles and their bindings to the service account of [`NAME`] in its namespace, as objects
    /// to be applied.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        let everywhere = self.namespaces.is_empty();
        let mut cluster = self.rules(Place::Cluster);
        if everywhere {
            cluster = merged(&[self.rules(Place::Jobs), cluster].concat());
        }
        objects.extend(self.role(None, NAME, &cluster));
        for namespace in self.namespaces {
            objects.extend(self.role(Some(namespace), NAME, &self.rules(Place::Jobs)));
        }
        let own = format!("{NAME}-own");
        objects.extend(self.role(Some(self.own), &own, &self.rules(Place::Own)));
        objects
    }

    fn rules(&self, place: Place) -> Vec<Right> {
        let wanted = |right: &Right| self.parts.contains(&right.part);
        let here = rights(self.apis)
            .into_iter()
            .filter(|right| right.place == place && wanted(right));
        let all: Vec<_> = here.map(|right| self.called(right)).collect();
        merged(&all)
    }

    /// A right with the names that the operator is told.
    fn called(&self, mut right: Right) -> Right {
        let name = match (right.place, right.part) {
            (Place::Own, Part::Election) => self.lease,
            (Place::Own, Part::Webhook | Part::Certificate) => self.secret,
            _ => return right,
        };
        right.names.fill(name.to_owned());
        right
    }

    /// A role and its binding; nothing when there is nothing to allow.
    fn role(&self, namespace: Option<&str>, name: &str, rules: &[Right]) -> Vec<Value> {
        const GROUP: &str = "rbac.authorization.k8s.io";
        if rules.is_empty() {
            return Vec::new();
        }
        let kind = namespace.map_or("ClusterRole", |_| "Role");
        let meta = namespace.map_or_else(
            || json!({"name": name}),
            |namespace| json!({"name": name, "namespace": namespace}),
        );
        let rules: Vec<_> = rules.iter().map(Right::rule).collect();
        let version = format!("{GROUP}/v1");
        vec![
            json!({"apiVersion": version, "kind": kind, "metadata": meta, "rules": rules}),
            json!({
                "apiVersion": version,
                "kind": format!("{kind}Binding"),
                "metadata": meta,
                "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": self.own}],
            }),
        ]
    }
}

/// Those of the same objects as one.
fn merged(rights: &[Right]) -> Vec<Right> {
    let mut all: Vec<Right> = Vec::new();
    for right in rights {
        let same = |one: &&mut Right| {
            (one.group, &one.resource, &one.names) == (right.group, &right.resource, &right.names)
        };
        match all.iter_mut().find(same) {
            Some(one) => {
                one.verbs.extend(&right.verbs);
                one.verbs.sort_unstable();
                one.verbs.dedup();
            }
            None => all.push(right.clone()),
        }
    }
    all
}
