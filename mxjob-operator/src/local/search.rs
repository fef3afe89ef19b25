//! Looks up a program as a shell does, and says what is wrong when it is not there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Why a program was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotFound {
    /// No directory of PATH has it.
    #[error("`{name}` is not there: no directory of PATH has it ({path})")]
    InPath {
        /// The name.
        name: String,
        /// What was searched.
        path: String,
    },
    /// There is no such file.
    #[error("`{0}` is not there: no such file")]
    NoFile(String),
    /// It is a file, but nobody said that it can be run.
    #[error("`{0}` cannot be run: make it executable (chmod +x)")]
    NotExecutable(String),
}

/// The file of program `name`: from `path` when it is a bare name, else as seen from `dir`.
pub(super) fn program(name: &str, path: &OsStr, dir: &Path) -> Result<PathBuf, NotFound> {
    if name.contains('/') {
        let file = dir.join(name);
        return match (file.is_file(), is_executable(&file)) {
            (true, true) => Ok(file),
            (true, false) => Err(NotFound::NotExecutable(name.to_owned())),
            (false, _) => Err(NotFound::NoFile(name.to_owned())),
        };
    }
    let missing = || NotFound::InPath {
        name: name.to_owned(),
        path: path.to_string_lossy().into_owned(),
    };
    all(name, path)
        .next()
        .map(|file| dir.join(file))
        .ok_or_else(missing)
}

/// Every program of that name in the directories of `path`, in their order.
pub(super) fn all(name: &str, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let directories: Vec<_> = std::env::split_paths(path)
        .filter(|dir| !dir.as_os_str().is_empty())
        .collect();
    directories
        .into_iter()
        .map(move |dir| dir.join(name))
        .filter(|file| is_executable(file))
}

/// True for a file that this user may run.
pub(super) fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn finds_what_a_shell_finds() {
        let dir = tempfile::tempdir().unwrap();
        let tool = dir.path().join("tool");
        std::fs::write(&tool, "#!/bin/sh\n").unwrap();
        let find = |name: &str| program(name, dir.path().as_os_str(), dir.path());
        assert_eq!(
            find("./tool"),
            Err(NotFound::NotExecutable("./tool".into()))
        );
        assert!(matches!(find("tool"), Err(NotFound::InPath { .. })));
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(find("tool"), Ok(tool.clone()));
        assert_eq!(find(tool.to_str().unwrap()), Ok(tool));
        assert_eq!(find("./gone"), Err(NotFound::NoFile("./gone".into())));
    }
}
