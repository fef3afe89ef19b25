//! Finds a usable Python: 3.8 to 3.12, with venv and ensurepip.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::search;
use super::PythonError;
use super::tool::{Outcome, Tool, launch};

/// The minor versions of Python 3 that MXNet 1.9.1 runs on, the best first. 3.12 comes last: there
/// MXNet needs names put back that Python and numpy have dropped.
const MINORS: [u32; 5] = [11, 10, 9, 8, 12];

/// A Python that says no word for this long is none.
const PATIENCE: Duration = Duration::from_secs(20);

/// Prints its version before it tries what Debian splits off and Python 2 does not have.
const PROBE: &str = "import sys; sys.stdout.write('mxjob-python %d.%d.%d\\n' % sys.version_info[:3]); \
                     sys.stdout.flush(); import venv, ensurepip; sys.stdout.write('mxjob-usable\\n')";

/// A Python to make a virtual environment with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Python {
    /// The program.
    pub(super) program: PathBuf,
    /// Like `3.11.7`; of uv's the wish.
    pub(super) version: String,
    /// The program is uv, which brings its own Python.
    pub(super) is_uv: bool,
}

/// The Pythons of this machine, one after the other.
#[derive(Debug)]
pub(super) struct Search {
    named: Option<PathBuf>,
    waiting: VecDeque<PathBuf>,
    uv: Option<PathBuf>,
    rejected: Vec<(String, String)>,
}

impl Search {
    /// Looks at the one that the user named, or at all that can be found.
    pub(super) fn new(named: Option<&Path>) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut search = Self {
            named: named.map(Path::to_owned),
            waiting: VecDeque::new(),
            uv: None,
            rejected: Vec::new(),
        };
        if let Some(named) = named {
            let here = std::env::current_dir().unwrap_or_default();
            match search::program(&named.to_string_lossy(), &path, &here) {
                Ok(program) => search.waiting.push_back(program),
                Err(why) => search
                    .rejected
                    .push((named.display().to_string(), why.to_string())),
            }
            return search;
        }
        let commands = MINORS
            .iter()
            .map(|minor| format!("python3.{minor}"))
            .chain(["python3".to_owned()]);
        let mut seen = BTreeSet::new();
        for name in commands {
            let found: Vec<_> = search::all(&name, &path).collect();
            if found.is_empty() {
                search.rejected.push((name, "not in PATH".to_owned()));
            }
            search.waiting.extend(
                found
                    .into_iter()
                    .filter(|file| seen.insert(file.canonicalize().ok())),
            );
        }
        search.waiting.extend(
            of_pyenv()
                .into_iter()
                .filter(|file| seen.insert(file.canonicalize().ok())),
        );
        search.uv = search::all("uv", &path).next();
        if search.uv.is_none() {
            search
                .rejected
                .push(("uv".to_owned(), "not in PATH".to_owned()));
        }
        search
    }

    /// The next usable one.
    pub(super) async fn next(
        &mut self,
        tool: &mut Tool<'_>,
    ) -> Result<Option<Python>, PythonError> {
        tool.step("looking for a Python", false);
        while let Some(program) = self.waiting.pop_front() {
            let args = ["-E", "-s", "-c", PROBE].map(OsStr::new);
            let outcome = tool
                .run(&launch(&program, &args, "/".into()), Some(PATIENCE), |_| {
                    None
                })
                .await?;
            match judge(&outcome) {
                Ok(version) => {
                    return Ok(Some(Python {
                        program,
                        version,
                        is_uv: false,
                    }));
                }
                Err(why) => self.rejected.push((program.display().to_string(), why)),
            }
        }
        let uv = self.uv.take();
        Ok(uv.map(|program| Python {
            program,
            version: format!("3.{}", MINORS[0]),
            is_uv: true,
        }))
    }

    /// It looked usable but was not.
    pub(super) fn reject(&mut self, python: &Python, why: String) {
        self.rejected
            .push((python.program.display().to_string(), why));
    }

    /// Why there is none.
    pub(super) fn failure(self) -> PythonError {
        match (self.named, self.rejected.first()) {
            (Some(python), Some((_, why))) => PythonError::Named {
                python,
                why: why.clone(),
            },
            _ => PythonError::NoPython {
                rejected: self.rejected,
            },
        }
    }
}

/// The version of a usable Python, or what is wrong.
fn judge(outcome: &Outcome) -> Result<String, String> {
    let line = |prefix: &str| {
        outcome
            .last_lines
            .iter()
            .find_map(|line| line.strip_prefix(prefix))
    };
    let Some(version) = line("mxjob-python ") else {
        return Err(match (outcome.last_lines.first(), outcome.status) {
            (_, None) => format!("no answer within {} s", PATIENCE.as_secs()),
            (Some(said), _) => said.clone(),
            (None, Some(status)) => format!("no Python: {status}"),
        });
    };
    let minor = version
        .strip_prefix("3.")
        .and_then(|rest| rest.split('.').next()?.parse().ok());
    if !minor.is_some_and(|minor: u32| MINORS.contains(&minor)) {
        return Err(format!("is Python {version}: it must be 3.8 to 3.12"));
    }
    if line("mxjob-usable").is_none() {
        return Err(format!(
            "is Python {version} without venv and ensurepip (Debian: apt install python3-venv)"
        ));
    }
    Ok(version.to_owned())
}

/// The Pythons that pyenv has built, the best first.
fn of_pyenv() -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = root
        .and_then(|root| std::fs::read_dir(root.join("versions")).ok())
        .into_iter()
        .flatten()
        .flatten();
    let mut found: Vec<_> = versions
        .filter_map(|version| {
            Some((
                rank(version.file_name().to_str()?)?,
                version.path().join("bin/python"),
            ))
        })
        .filter(|(_, python)| search::is_executable(python))
        .collect();
    found.sort();
    found.into_iter().map(|(_, python)| python).collect()
}

/// Order of a version like `3.11.7`: first the minor versions as in [`MINORS`], then the newest.
fn rank(version: &str) -> Option<(usize, std::cmp::Reverse<u32>)> {
    let (minor, patch) = version.strip_prefix("3.")?.split_once('.')?;
    let (minor, patch): (u32, u32) = (minor.parse().ok()?, patch.parse().ok()?);
    Some((
        MINORS.iter().position(|one| *one == minor)?,
        std::cmp::Reverse(patch),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn judged(lines: &[&str], code: i32) -> Result<String, String> {
        let last_lines = lines.iter().map(ToString::to_string).collect();
        judge(&Outcome {
            status: Some(ExitStatus::from_raw(code << 8)),
            last_lines,
        })
    }

    #[test]
    fn knows_a_usable_python() {
        assert_eq!(
            judged(&["mxjob-python 3.11.7", "mxjob-usable"], 0),
            Ok("3.11.7".to_owned())
        );
        assert_eq!(
            judged(&["mxjob-python 3.8.18", "mxjob-usable"], 0),
            Ok("3.8.18".to_owned())
        );
    }

    #[test]
    fn says_what_is_wrong_with_one() {
        let why = |lines: &[&str]| judged(lines, 1).unwrap_err();
        assert_eq!(
            why(&["mxjob-python 3.13.0", "mxjob-usable"]),
            "is Python 3.13.0: it must be 3.8 to 3.12"
        );
        assert_eq!(
            why(&["mxjob-python 2.7.18", "ImportError"]),
            "is Python 2.7.18: it must be 3.8 to 3.12"
        );
        assert!(
            why(&["mxjob-python 3.11.2", "No module named 'ensurepip'"])
                .contains("apt install python3-venv")
        );
        let shim = "pyenv: python3.8: command not found";
        assert_eq!(
            why(&[
                shim,
                "The `python3.8' command exists in these Python versions:"
            ]),
            shim
        );
        assert_eq!(why(&[]), "no Python: exit status: 1");
        let silent = judge(&Outcome {
            status: None,
            last_lines: Vec::new(),
        });
        assert_eq!(silent, Err("no answer within 20 s".to_owned()));
    }

    #[test]
    fn prefers_versions_as_names_do() {
        let mut versions = ["3.12.1", "3.8.18", "3.11.2", "3.11.7", "3.10.13"];
        versions.sort_by_key(|version| rank(version));
        assert_eq!(
            versions,
            ["3.11.7", "3.11.2", "3.10.13", "3.8.18", "3.12.1"]
        );
        for other in ["2.7.18", "3.13.0", "pypy3.9-7.3", "3.7.16", "3.11-dev"] {
            assert_eq!(rank(other), None, "{other}");
        }
    }
}
