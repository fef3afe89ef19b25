//! What a pod's container comes to on this machine: a program, its arguments, its environment and
//! its directory.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, Pod};

use super::expand::expand;
use super::process::Launch;
use super::search;
use super::variables;

/// What of this machine its replicas see.
#[derive(Debug)]
pub(super) struct Machine {
    /// Folder of the manifest: where replicas run that do not say.
    pub(super) folder: PathBuf,
    /// The user's own environment.
    pub(super) env: BTreeMap<OsString, OsString>,
    /// Virtual environment whose programs come first.
    pub(super) venv: Option<PathBuf>,
    /// The variable that holds a job's layout; one of the user's shell is not passed on.
    pub(super) config_env: Option<&'static str>,
}

/// Why a container cannot be run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProgramError {
    /// The pod has no container of the name that the role says.
    #[error("container {0} is not there: add it to spec.containers")]
    NoContainer(String),
    /// What to run is said by the image alone.
    #[error(
        "container {0} has no command: `mxjob run` does not use images, so say what to run in `command`"
    )]
    NoCommand(String),
    /// A variable's value comes from something that only a cluster has.
    #[error("variable {name} of container {container}: {why}")]
    Variable {
        /// The container.
        container: String,
        /// The variable.
        name: String,
        /// What it wants, and what to do.
        why: String,
    },
    /// The first word of the command is no program here.
    #[error("command {0}")]
    NoProgram(#[from] search::NotFound),
}

impl Machine {
    /// What to start for `container` of `pod`.
    pub(super) fn launch(&self, pod: &Pod, container: &str) -> Result<Launch, ProgramError> {
        let containers = pod
            .spec
            .as_ref()
            .map(|spec| spec.containers.as_slice())
            .unwrap_or_default();
        let found = containers.iter().find(|one| one.name == container);
        let container = found.ok_or_else(|| ProgramError::NoContainer(container.to_owned()))?;
        let own = variables::of_container(pod, container).map_err(|(name, why)| {
            ProgramError::Variable {
                container: container.name.clone(),
                name,
                why,
            }
        })?;
        let words = words(container, &own);
        let (first, args) = words
            .split_first()
            .ok_or_else(|| ProgramError::NoCommand(container.name.clone()))?;
        let env = self.environment(&own);
        let dir = self.working_dir(container);
        let path = env
            .get(OsStr::new("PATH"))
            .map_or(OsStr::new(""), OsString::as_os_str);
        let program = search::program(first, path, &dir)?;
        let args = args.iter().map(OsString::from).collect();
        Ok(Launch {
            program,
            args,
            env: env.into_iter().collect(),
            dir,
        })
    }

    /// The directory: an absolute one that exists here, a relative one below the manifest's folder,
    /// else that folder.
    fn working_dir(&self, container: &Container) -> PathBuf {
        let wanted = container
            .working_dir
            .as_deref()
            .filter(|dir| !dir.is_empty());
        let wanted = wanted.map(|dir| self.folder.join(dir));
        wanted
            .filter(|dir| dir.is_dir())
            .unwrap_or_else(|| self.folder.clone())
    }

    /// The directory that the container asks for and that is not here.
    pub(super) fn missing_dir(&self, container: &Container) -> Option<String> {
        let wanted = container
            .working_dir
            .as_deref()
            .filter(|dir| !dir.is_empty())?;
        (!self.folder.join(wanted).is_dir()).then(|| wanted.to_owned())
    }

    /// The user's environment, the virtual environment's programs first, under the container's own.
    fn environment(&self, own: &[(String, String)]) -> BTreeMap<OsString, OsString> {
        let mut env = self.env.clone();
        env.retain(|name, _| !self.is_foreign(name));
        if let Some(venv) = &self.venv {
            enter_venv(&mut env, venv);
        }
        env.insert("PYTHONUNBUFFERED".into(), "1".into());
        if own.iter().any(|(name, _)| name.starts_with("DMLC_")) {
            // ps-lite binds to the first interface that it finds, which may not reach 127.0.0.1.
            env.insert("DMLC_INTERFACE".into(), "lo".into());
            env.insert("DMLC_NODE_HOST".into(), "127.0.0.1".into());
        }
        env.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
        env
    }

    /// Variables of the user's shell that would change what a replica is: ps-lite's own, `PORT`
    /// (ps-lite takes it for its node's) and what leads Python away from the virtual environment.
    fn is_foreign(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        let misleading = [
            "PORT",
            "PYTHONHOME",
            "__PYVENV_LAUNCHER__",
            super::strays::VARIABLE,
        ];
        name.starts_with("DMLC_")
            || misleading.contains(&&*name)
            || self.config_env.is_some_and(|own| own == name)
    }
}

/// As the script `activate` of a virtual environment does.
fn enter_venv(env: &mut BTreeMap<OsString, OsString>, venv: &Path) {
    let mut path = venv.join("bin").into_os_string();
    if let Some(old) = env.get(OsStr::new("PATH")).filter(|old| !old.is_empty()) {
        path.push(":");
        path.push(old);
    }
    env.insert("PATH".into(), path);
    env.insert("VIRTUAL_ENV".into(), venv.into());
}

/// Command and arguments, expanded. Arguments alone are run as an image without an entry point does.
fn words(container: &Container, own: &[(String, String)]) -> Vec<String> {
    let lookup = |name: &str| {
        own.iter()
            .rev()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.clone())
    };
    let words = container
        .command
        .iter()
        .flatten()
        .chain(container.args.iter().flatten());
    words.map(|word| expand(word, lookup)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(container: serde_json::Value) -> Pod {
        let mut container = container;
        container["name"] = "mxnet".into();
        serde_json::from_value(json!({
            "metadata": {"name": "digits-worker-0"},
            "spec": {"containers": [{"name": "side", "command": ["no"]}, container]},
        }))
        .unwrap()
    }

    fn machine() -> Machine {
        let env = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/root"),
            ("PORT", "80"),
            ("DMLC_ROLE", "server"),
        ];
        Machine {
            folder: "/tmp".into(),
            env: env
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            venv: None,
            config_env: Some("MX_CONFIG"),
        }
    }

    fn value(launch: &Launch, name: &str) -> Option<String> {
        let found = launch.env.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.to_string_lossy().into_owned())
    }

    #[test]
    fn runs_command_and_args_expanded() {
        let pod = pod(
            json!({"command": ["sh", "-c"], "args": ["echo $(WHO) $$(WHO)"], "env": [{"name": "WHO", "value": "me"}]}),
        );
        let launch = machine().launch(&pod, "mxnet").unwrap();
        assert!(launch.program.ends_with("bin/sh"));
        assert_eq!(launch.args, ["-c", "echo me $(WHO)"]);
        assert_eq!(launch.dir, Path::new("/tmp"));
    }

    #[test]
    fn the_users_shell_is_there_but_cannot_change_the_replica() {
        let launch = machine()
            .launch(&pod(json!({"command": ["sh"]})), "mxnet")
            .unwrap();
        assert_eq!(value(&launch, "HOME").unwrap(), "/root");
        assert_eq!(value(&launch, "PYTHONUNBUFFERED").unwrap(), "1");
        for absent in ["PORT", "DMLC_ROLE", "DMLC_INTERFACE"] {
            assert_eq!(value(&launch, absent), None, "{absent}");
        }
    }

    #[test]
    fn members_of_a_parameter_server_job_meet_on_loopback() {
        let env = json!([{"name": "DMLC_ROLE", "value": "worker"}, {"name": "DMLC_INTERFACE", "value": "eth0"}]);
        let launch = machine()
            .launch(&pod(json!({"command": ["sh"], "env": env})), "mxnet")
            .unwrap();
        assert_eq!(value(&launch, "DMLC_NODE_HOST").unwrap(), "127.0.0.1");
        assert_eq!(value(&launch, "DMLC_INTERFACE").unwrap(), "eth0");
    }

    #[test]
    fn a_virtual_environments_programs_come_first() {
        let machine = Machine {
            venv: Some("/venv".into()),
            ..machine()
        };
        let launch = machine
            .launch(&pod(json!({"command": ["sh"]})), "mxnet")
            .unwrap();
        assert_eq!(value(&launch, "PATH").unwrap(), "/venv/bin:/usr/bin:/bin");
        assert_eq!(value(&launch, "VIRTUAL_ENV").unwrap(), "/venv");
    }

    #[test]
    fn says_what_is_missing() {
        let why = |container| {
            machine()
                .launch(&pod(container), "mxnet")
                .unwrap_err()
                .to_string()
        };
        assert!(
            why(json!({}))
                .starts_with("container mxnet has no command: `mxjob run` does not use images")
        );
        assert_eq!(
            why(json!({"command": ["pythonn"]})),
            "command `pythonn` is not there: no directory of PATH has it (/usr/bin:/bin)"
        );
        let missing = machine()
            .launch(&pod(json!({"command": ["sh"]})), "main")
            .unwrap_err();
        assert_eq!(missing, ProgramError::NoContainer("main".into()));
    }

    #[test]
    fn a_directory_that_is_not_here_is_the_manifests() {
        let container = |dir: &str| pod(json!({"command": ["sh"], "workingDir": dir}));
        let dir = |dir: &str| machine().launch(&container(dir), "mxnet").unwrap().dir;
        assert_eq!(dir("/usr"), Path::new("/usr"));
        assert_eq!(dir("."), Path::new("/tmp/."));
        assert_eq!(dir("/not/here"), Path::new("/tmp"));
        let spec = container("/not/here").spec.unwrap();
        assert_eq!(
            machine().missing_dir(&spec.containers[1]).as_deref(),
            Some("/not/here")
        );
    }
}
