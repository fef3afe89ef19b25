//! Where virtual environments are kept: `<cache>/mxjob/venvs/<key>`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest;
use rustix::fs::{FlockOperation, flock};

use super::tool::Tool;
use super::{PythonError, Request};

/// File that a virtual environment has once everything is installed. It names the Python behind it:
/// when that one is replaced by another, the environment is made anew.
const STAMP: &str = ".mxjob-complete";

/// The place of one virtual environment.
#[derive(Debug)]
pub(super) struct Slot {
    folder: PathBuf,
}

impl Slot {
    /// The place for what is requested. The key is made of all that decides what is in there: the
    /// requirements with the files that they include, the system, and the Python that was named. It
    /// takes no running Python, so a ready environment costs no time.
    pub(super) fn of(request: &Request) -> Result<Self, PythonError> {
        let mut hash = digest::Context::new(&digest::SHA256);
        let mut add = |part: &[u8]| {
            hash.update(&part.len().to_le_bytes());
            hash.update(part);
        };
        add(format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH).as_bytes());
        add(request
            .python
            .as_deref()
            .unwrap_or(Path::new(""))
            .as_os_str()
            .as_encoded_bytes());
        for content in contents(&request.requirements)? {
            add(&content);
        }
        let key: Vec<_> = hash
            .finish()
            .as_ref()
            .iter()
            .take(12)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            folder: cache_dir()?.join("mxjob/venvs").join(key.concat()),
        })
    }

    /// The virtual environment's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything is installed and the Python behind it is still the same.
    pub(super) fn is_ready(&self) -> bool {
        let stamp = fs::read_to_string(self.folder.join(STAMP)).unwrap_or_default();
        let behind = stamp.lines().find_map(|line| line.strip_prefix("behind "));
        behind.is_some_and(|behind| self.behind().is_ok_and(|now| now == Path::new(behind)))
    }

    /// Waits until no other run works here. The lock goes with the file.
    pub(super) async fn lock(&self, tool: &mut Tool<'_>) -> Result<File, PythonError> {
        let parent = self.folder.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(|source| cannot_write(parent, source))?;
        let path = self.folder.with_extension("lock");
        let file = File::create(&path).map_err(|source| cannot_write(&path, source))?;
        let mut said = false;
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(cannot_write(&path, error.into()));
            }
            if !said {
                said = true;
                tool.step(
                    "waiting for another mxjob that makes the same environment",
                    true,
                );
            }
            tool.pause(Duration::from_millis(100)).await;
        }
        Ok(file)
    }

    /// Removes what an interrupted run left.
    pub(super) fn clear(&self) -> Result<(), PythonError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(cannot_write(&self.folder, error))
            }
            _ => Ok(()),
        }
    }

    /// Marks it as complete.
    pub(super) fn complete(&self, version: &str, requirements: &Path) -> Result<(), PythonError> {
        let behind = self
            .behind()
            .map_err(|source| cannot_write(&self.folder, source))?;
        let stamp = format!(
            "behind {}\npython {version}\nfor {}\n",
            behind.display(),
            requirements.display()
        );
        let path = self.folder.join(STAMP);
        fs::write(&path, stamp).map_err(|source| cannot_write(&path, source))
    }

    /// The Python that the environment's link leads to.
    fn behind(&self) -> io::Result<PathBuf> {
        self.folder.join("bin/python").canonicalize()
    }
}

fn cannot_write(path: &Path, source: io::Error) -> PythonError {
    PythonError::Cache {
        path: path.to_owned(),
        source,
    }
}

/// `$XDG_CACHE_HOME`, if it is absolute as its specification wants it, or `~/.cache`.
fn cache_dir() -> Result<PathBuf, PythonError> {
    let named = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named("XDG_CACHE_HOME")
        .or_else(|| named("HOME").map(|home| home.join(".cache")))
        .ok_or(PythonError::NoHome)
}

/// What stands in the requirements file and in those that it includes.
fn contents(file: &Path) -> Result<Vec<Vec<u8>>, PythonError> {
    let mut contents = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![file.to_owned()];
    while let Some(file) = waiting.pop() {
        if seen.insert(file.clone()) {
            let content = fs::read(&file).map_err(|source| PythonError::Requirements {
                file: file.clone(),
                source,
            })?;
            let folder = file.parent().unwrap_or(Path::new("."));
            waiting.extend(
                includes(&String::from_utf8_lossy(&content)).map(|include| folder.join(include)),
            );
            contents.push(content);
        }
    }
    Ok(contents)
}

/// The local files of `-r FILE` and `-c FILE` lines.
fn includes(content: &str) -> impl Iterator<Item = &str> {
    const OPTIONS: [&str; 4] = ["--requirement", "--constraint", "-r", "-c"];
    let file = |line: &'_ str| -> Option<usize> {
        let option = OPTIONS.iter().find(|option| line.starts_with(**option))?;
        Some(option.len())
    };
    content.lines().map(str::trim).filter_map(move |line| {
        let name = line
            .get(file(line)?..)?
            .trim_start_matches(['=', ' ', '\t'])
            .split(" #")
            .next()?
            .trim();
        (!name.is_empty() && !name.contains("://")).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_included_files() {
        let content = "mxnet\n-r more.txt\n-cpins.txt # pinned\n--requirement=a.txt\n-c https://x/y\n--no-index\n";
        assert_eq!(
            includes(content).collect::<Vec<_>>(),
            ["more.txt", "pins.txt", "a.txt"]
        );
    }

    #[test]
    fn an_included_file_counts_and_a_circle_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("requirements.txt");
        fs::write(&file, "-r more.txt\n").unwrap();
        fs::write(dir.path().join("more.txt"), "-r requirements.txt\nmxnet\n").unwrap();
        let request = Request {
            requirements: file.clone(),
            python: None,
        };
        assert_eq!(contents(&file).unwrap().len(), 2);
        let before = Slot::of(&request).unwrap().folder;
        fs::write(dir.path().join("more.txt"), "mxnet==1.9.1\n").unwrap();
        assert_ne!(Slot::of(&request).unwrap().folder, before);
        let named = Request {
            python: Some("python3.8".into()),
            ..request.clone()
        };
        assert_ne!(
            Slot::of(&named).unwrap().folder,
            Slot::of(&request).unwrap().folder
        );
        fs::remove_file(dir.path().join("more.txt")).unwrap();
        assert!(
            Slot::of(&request)
                .unwrap_err()
                .to_string()
                .contains("more.txt")
        );
    }
}
