//! What the container of a replica gets that asks for an accelerator: folders of its node, and
//! variables. It goes into the pods only; the stored job stays as it is.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, EnvVar, HostPathVolumeSource, PodSpec, Volume, VolumeMount,
};
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::schema::{Path, suggestion};

/// The accelerators that somebody has configured, by the name of their resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accelerators(BTreeMap<String, Accelerator>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Accelerator {
    folders: Vec<Folder>,
    variables: Vec<EnvVar>,
}

/// A folder of the node.
#[derive(Clone, Debug, PartialEq)]
struct Folder {
    volume: String,
    node: String,
    container: String,
}

impl Accelerators {
    /// Reads the controller's configuration file. As with the controllers that it was made for, keys
    /// are found in any letter case. One that is not known is a mistake: what it was to say would be
    /// missed only when jobs run.
    pub fn read(file: &Value) -> Result<Self, Vec<Problem>> {
        let mut reader = Reader::default();
        let all = reader.file(file);
        if reader.problems.is_empty() {
            Ok(all)
        } else {
            Err(reader.problems)
        }
    }

    /// Gives `container` of the pod what belongs to the accelerators that it asks for, in limits or
    /// requests. What the pod has already under one of the names stays as it is.
    pub fn apply(&self, container: &str, pod: &mut PodSpec) {
        let found = pod.containers.iter_mut().find(|one| one.name == container);
        let Some(container) = found else { return };
        let given: Vec<_> = self
            .0
            .iter()
            .filter(|(resource, _)| asks_for(container, resource))
            .map(|(_, accelerator)| accelerator)
            .collect();
        for folder in given.iter().flat_map(|one| &one.folders) {
            folder.mount(container, &mut pod.volumes);
        }
        for variable in given.iter().flat_map(|one| &one.variables) {
            let variables = container.env.get_or_insert_default();
            if !variables.iter().any(|known| known.name == variable.name) {
                variables.push(variable.clone());
            }
        }
    }
}

fn asks_for(container: &Container, resource: &str) -> bool {
    let lists = container.resources.as_ref();
    let lists = lists.map(|all| [all.limits.as_ref(), all.requests.as_ref()]);
    let mut lists = lists.into_iter().flatten().flatten();
    lists.any(|list| list.contains_key(resource))
}

impl Folder {
    fn mount(&self, container: &mut Container, volumes: &mut Option<Vec<Volume>>) {
        let mounts = container.volume_mounts.get_or_insert_default();
        let is_there =
            |known: &VolumeMount| known.name == self.volume || known.mount_path == self.container;
        if !mounts.iter().any(is_there) {
            mounts.push(VolumeMount {
                name: self.volume.clone(),
                mount_path: self.container.clone(),
                ..VolumeMount::default()
            });
        }
        let is_used = mounts.iter().any(|mount| mount.name == self.volume);
        let volumes = volumes.get_or_insert_default();
        if is_used && !volumes.iter().any(|known| known.name == self.volume) {
            volumes.push(Volume {
                name: self.volume.clone(),
                host_path: Some(HostPathVolumeSource {
                    path: self.node.clone(),
                    type_: None,
                }),
                ..Volume::default()
            });
        }
    }
}

/// The second is of the controllers that the file was made for: they read it and never used it.
const TOP: [&str; 3] = ["accelerators", "grpcServerFilePath", "mxImage"];

type Fields = Map<String, Value>;

/// Reads on after a mistake: all of them are to be said at once.
#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn file(&mut self, file: &Value) -> Accelerators {
        let mut all = BTreeMap::new();
        let path = Path::ROOT;
        let Some(fields) = self.fields(file, path) else {
            return Accelerators(all);
        };
        self.known(fields, &TOP, path);
        if let Some((key, accelerators)) = field(fields, "accelerators") {
            let path = path.key(key);
            for (resource, one) in self.fields(accelerators, path).into_iter().flatten() {
                let path = path.key(resource);
                if !is_resource(resource) {
                    self.complain(
                        path.to_string(),
                        "must be the name of a resource, like nvidia.com/gpu",
                    );
                }
                if let Some(fields) = self.fields(one, path) {
                    all.insert(resource.clone(), self.accelerator(fields, path));
                }
            }
        }
        Accelerators(all)
    }

    fn accelerator(&mut self, fields: &Fields, path: Path<'_>) -> Accelerator {
        self.known(fields, &["volumes", "envVars"], path);
        let accelerator = Accelerator {
            folders: self.items(fields, "volumes", path, Self::folder),
            variables: self.items(fields, "envVars", path, Self::variable),
        };
        let mut before: BTreeMap<&str, &Folder> = BTreeMap::new();
        for folder in &accelerator.folders {
            let first = before.entry(&folder.volume).or_insert(folder);
            if *first != folder {
                let message = format!("has two volumes {}: rename one", folder.volume);
                self.complain(path.to_string(), message);
            }
        }
        accelerator
    }

    /// Complains about keys other than `names`.
    fn known(&mut self, fields: &Fields, names: &[&'static str], path: Path<'_>) {
        let is_known = |key: &str| names.iter().any(|name| key.eq_ignore_ascii_case(name));
        for key in fields.keys().filter(|key| !is_known(key)) {
            let near = suggestion(key, names.iter().copied());
            let near = near.map_or_else(String::new, |name| format!(": did you mean {name}?"));
            self.complain(path.key(key).to_string(), format!("unknown key{near}"));
        }
    }

    fn folder(&mut self, fields: &Fields, path: Path<'_>) -> Option<Folder> {
        self.known(fields, &["name", "hostPath", "mountPath"], path);
        let volume = self.text(fields, "name", path);
        let node = self.folder_path(fields, "hostPath", path);
        let container = self.folder_path(fields, "mountPath", path);
        let volume = volume?;
        if !is_label(&volume) {
            let key = path.key("name").to_string();
            self.complain(
                key,
                "must be lower-case letters, digits and -, 63 at most, as Kubernetes names volumes",
            );
        }
        Some(Folder {
            volume,
            node: node?,
            container: container?,
        })
    }

    fn folder_path(&mut self, fields: &Fields, name: &str, path: Path<'_>) -> Option<String> {
        let text = self.text(fields, name, path)?;
        if !text.starts_with('/') {
            self.complain(path.key(name).to_string(), "must begin with /");
        }
        Some(text)
    }

    fn variable(&mut self, fields: &Fields, path: Path<'_>) -> Option<EnvVar> {
        self.known(fields, &["name", "value"], path);
        let name = self.text(fields, "name", path);
        if name.as_deref().is_some_and(|name| !is_variable(name)) {
            self.complain(
                path.key("name").to_string(),
                "must be printable ASCII without =, as Kubernetes names variables",
            );
        }
        let value = match field(fields, "value") {
            None => Some(String::new()),
            Some((key, value)) => {
                let text = value.as_str().map(str::to_owned);
                if text.is_none() {
                    self.complain(
                        path.key(key).to_string(),
                        "must be a text: put it in quotes",
                    );
                }
                text
            }
        };
        Some(EnvVar {
            name: name?,
            value: Some(value?),
            value_from: None,
        })
    }

    /// A text that must be there.
    fn text(&mut self, fields: &Fields, name: &str, path: Path<'_>) -> Option<String> {
        let found = field(fields, name);
        match found.map(|(key, value)| (key, value.as_str())) {
            Some((_, Some(text))) if !text.is_empty() => return Some(text.to_owned()),
            Some((key, Some(_))) => self.complain(path.key(key).to_string(), "must not be empty"),
            Some((key, None)) => {
                self.complain(
                    path.key(key).to_string(),
                    "must be a text: put it in quotes",
                );
            }
            None => self.complain(path.to_string(), format!("{name} is missing")),
        }
        None
    }

    fn items<T>(
        &mut self,
        fields: &Fields,
        name: &str,
        path: Path<'_>,
        read: fn(&mut Self, &Fields, Path<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some((key, value)) = field(fields, name) else {
            return Vec::new();
        };
        let path = path.key(key);
        let Some(items) = value.as_array() else {
            self.complain(path.to_string(), "must be a list");
            return Vec::new();
        };
        let mut all = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = path.item(index);
            if let Some(fields) = self.fields(item, path) {
                all.extend(read(self, fields, path));
            }
        }
        all
    }

    fn fields<'v>(&mut self, value: &'v Value, path: Path<'_>) -> Option<&'v Fields> {
        let fields = value.as_object();
        if fields.is_none() {
            self.complain(path.to_string(), "must be a mapping of names to values");
        }
        fields
    }

    fn complain(&mut self, path: String, message: impl Into<String>) {
        self.problems.push(Problem::error(path, message));
    }
}

/// A field, in any letter case.
fn field<'v>(fields: &'v Fields, name: &str) -> Option<(&'v String, &'v Value)> {
    fields
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
}

/// A DNS label as RFC 1123 has it.
fn is_label(name: &str) -> bool {
    let plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    name.len() <= 63 && name.chars().all(plain) && !name.starts_with('-') && !name.ends_with('-')
}

/// A qualified name as Kubernetes has it.
fn is_resource(name: &str) -> bool {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, name),
    };
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.');
    let end = |one: char| one.is_ascii_alphanumeric();
    let is_domain = |prefix: &str| {
        let mut labels = prefix.split('.');
        prefix.len() <= 253 && labels.all(|label| !label.is_empty() && is_label(label))
    };
    prefix.is_none_or(is_domain)
        && (1..=63).contains(&name.len())
        && name.chars().all(plain)
        && name.starts_with(end)
        && name.ends_with(end)
}

/// What the API server takes for the name of a variable.
fn is_variable(name: &str) -> bool {
    let printable = |one: char| one.is_ascii_graphic() || one == ' ';
    name.chars().all(|one| printable(one) && one != '=')
}
