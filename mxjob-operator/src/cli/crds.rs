//! `mxjob crds`: the CustomResourceDefinitions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::Args;
use mxjob_core::ReplicaRole;

use super::{UNUSABLE, output};

/// What to do with the CustomResourceDefinitions.
#[derive(Args, Clone, Debug)]
pub(super) struct CrdsArgs {
    /// Write one file each into this folder, those that differ [default: print them]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Those of this API group; give it more than once for more
    #[arg(long, value_delimiter = ',', value_name = "GROUP")]
    api: Vec<String>,
}

impl CrdsArgs {
    /// Whether a file is asked for, by its name `<group>_<plural>.yaml`.
    fn wants(&self, name: &str) -> bool {
        // A group is a DNS name, in which an underscore cannot be.
        let group = name.split_once('_').map(|(group, _)| group);
        self.api.iter().any(|api| Some(api.as_str()) == group)
    }
}

/// Prints or writes the CustomResourceDefinitions of `R`.
pub(super) fn run<R: ReplicaRole>(args: &CrdsArgs) -> ExitCode {
    let crds = mxjob_core::crds::<R>();
    let files: Vec<_> = crds.files().filter(|(name, _)| args.wants(name)).collect();
    let Some(folder) = &args.out else {
        let texts: Vec<_> = files.into_iter().map(|(_, text)| text).collect();
        return output::print(&texts.join("---\n"));
    };
    match write(&files, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write {}: {error}", folder.display());
            ExitCode::from(UNUSABLE)
        }
    }
}

fn write(files: &[(&str, &str)], folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in files {
        let file = folder.join(name);
        let same = fs::read_to_string(&file).is_ok_and(|old| old == *text);
        if !same {
            fs::write(&file, text)?;
        }
        eprintln!(
            "{}: {}",
            file.display(),
            if same { "unchanged" } else { "written" }
        );
    }
    Ok(())
}
