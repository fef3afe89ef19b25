//! A home, a folder with manifests, an environment.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Started;

/// Variable that everything started in a test carries.
pub(crate) const MARK: &str = "MXJOB_TEST";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// A machine for one test.
pub(crate) struct Machine {
    folder: Arc<TempDir>,
    env: Vec<(OsString, OsString)>,
    /// What of the environment of this test mxjob does not get.
    without: &'static [&'static str],
    /// How long anything may take before it counts as hanging.
    pub(crate) patience: Duration,
    pub mark: String,
}

impl Machine {
    /// A machine with this one's programs.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let mark = format!(
            "{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        fs::create_dir_all(folder.path().join("home")).unwrap();
        let machine = Self {
            folder,
            env: Vec::new(),
            without: &["XDG_CACHE_HOME", "PYENV_ROOT", "TERM", "NO_COLOR"],
            patience: Duration::from_mins(1),
            mark,
        };
        let home = machine.path("home");
        machine.with("HOME", home)
    }

    /// This very machine, with its Python, and the programs of an example in its folder. The
    /// environment with what the example requires is made once for all tests.
    pub(crate) fn with_example(example: &str) -> Self {
        let mut machine = Self::new();
        machine.env.clear();
        machine.without = &["TERM", "NO_COLOR"];
        machine.patience = Duration::from_mins(15);
        for entry in fs::read_dir(examples().join(example)).unwrap() {
            let file = entry.unwrap().path();
            let wanted = ["py", "txt"].map(|extension| Some(OsStr::new(extension)));
            if wanted.contains(&file.extension()) {
                let name = file.file_name().unwrap();
                fs::copy(&file, machine.folder.path().join(name)).unwrap();
            }
        }
        machine.with(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
    }

    /// A machine whose PATH holds nothing but a few tools: no Python, whatever this machine has.
    pub(crate) fn bare() -> Self {
        let machine = Self::new();
        let bin = machine.path("bin");
        fs::create_dir(&bin).unwrap();
        for tool in [
            "sh", "cat", "mkdir", "rm", "cp", "ln", "chmod", "sleep", "touch", "env",
        ] {
            let file = ["/usr/bin", "/bin"]
                .iter()
                .map(|dir| Path::new(dir).join(tool))
                .find(|file| file.exists());
            symlink(file.unwrap(), bin.join(tool)).unwrap();
        }
        machine.with("PATH", bin)
    }

    /// Sets a variable of the environment that mxjob is run in.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// A place in the folder of the manifests.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file next to the manifests.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a program.
    pub(crate) fn program(&self, name: &str, content: &str) -> PathBuf {
        let path = self.file(name, content);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    /// `mxjob` with these arguments, on this machine.
    pub(crate) fn mxjob(&self, args: &[&str]) -> Command {
        self.through(env!("CARGO_BIN_EXE_mxjob"), args)
    }

    /// A program with these arguments, on this machine; in them `mxjob` is the one that is tested.
    pub(crate) fn through(&self, program: &str, args: &[&str]) -> Command {
        // Tests may be started with signals ignored, as by `nohup` or from a script's background.
        let mut command = Command::new("/usr/bin/env");
        command.args(["--default-signal=INT,HUP,TERM,PIPE", program]);
        for name in self.without {
            command.env_remove(name);
        }
        let tested = |arg: &&str| {
            if *arg == "mxjob" {
                env!("CARGO_BIN_EXE_mxjob").to_owned()
            } else {
                (*arg).to_owned()
            }
        };
        command
            .args(args.iter().map(tested))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env(MARK, &self.mark)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts `mxjob run` with this job.
    pub(crate) fn run(&self, job: &Job) -> Started {
        self.run_with(job, &[])
    }

    /// Starts `mxjob run` with this job and more arguments.
    pub(crate) fn run_with(&self, job: &Job, more: &[&str]) -> Started {
        self.file("job.yaml", &job.0.to_string());
        let args: Vec<_> = ["run", "job.yaml"].iter().chain(more).copied().collect();
        Started::new(self.mxjob(&args), self)
    }

    /// The folder, to be kept as long as something runs in it.
    pub(crate) fn folder(&self) -> Arc<TempDir> {
        Arc::clone(&self.folder)
    }
}

/// A job, in most tests of shell scripts.
pub(crate) struct Job(pub Value);

impl Job {
    /// A job of that name without replicas.
    pub(crate) fn named(name: &str) -> Self {
        Self(json!({
            "apiVersion": "kubeflow.org/v1",
            "kind": "MXJob",
            "metadata": {"name": name},
            "spec": {"mxReplicaSpecs": {}},
        }))
    }

    /// The job of a manifest in `examples`.
    pub(crate) fn of_example(file: &str) -> Self {
        let text = fs::read_to_string(examples().join(file)).unwrap();
        Self(serde_saphyr::from_str(&text).unwrap())
    }

    /// Adds arguments to the command of every role.
    pub(crate) fn adding(mut self, arguments: &[&str]) -> Self {
        for role in self.0["spec"]["mxReplicaSpecs"]
            .as_object_mut()
            .unwrap()
            .values_mut()
        {
            let command = role["template"]["spec"]["containers"][0]["command"]
                .as_array_mut()
                .unwrap();
            command.extend(arguments.iter().map(|argument| Value::from(*argument)));
        }
        self
    }

    /// Adds replicas that run a shell script.
    pub(crate) fn role(self, role: &str, replicas: u32, script: &str) -> Self {
        self.role_with(role, replicas, json!({"command": ["sh", "-c", script]}))
    }

    /// Adds replicas with this container.
    pub(crate) fn role_with(mut self, role: &str, replicas: u32, mut container: Value) -> Self {
        container["name"] = "mxnet".into();
        container["image"] = "none".into();
        let spec = json!({"replicas": replicas, "template": {"spec": {"containers": [container]}}});
        self.0["spec"]["mxReplicaSpecs"][role] = spec;
        self
    }

    /// Sets a value, by JSON pointer; what is above it is made.
    pub(crate) fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let mut place = &mut self.0;
        for key in pointer.trim_start_matches('/').split('/') {
            place = &mut place[key.replace("~1", "/")];
        }
        *place = value.into();
        self
    }

    /// Names a requirements file.
    pub(crate) fn requiring(self, file: &str) -> Self {
        self.with(
            "/metadata/annotations/mxjob.kubeflow.org~1requirements",
            file,
        )
    }
}
