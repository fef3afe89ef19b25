//! `mxjob crds`: the CustomResourceDefinitions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::Args;
use mxjob_core::{Crds, ReplicaRole};

use super::{UNUSABLE, output};

/// What to do with the CustomResourceDefinitions.
#[derive(Args, Clone, Debug)]
pub(super) struct CrdsArgs {
    /// Write one file each into this folder, those that differ [default: print them]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints or writes the CustomResourceDefinitions of `R`.
pub(super) fn run<R: ReplicaRole>(args: &CrdsArgs) -> ExitCode {
    let crds = mxjob_core::crds::<R>();
    let Some(folder) = &args.out else {
        let texts: Vec<_> = crds.files().map(|(_, text)| text).collect();
        return output::print(&texts.join("---\n"));
    };
    match write(&crds, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write {}: {error}", folder.display());
            ExitCode::from(UNUSABLE)
        }
    }
}

fn write(crds: &Crds, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in crds.files() {
        let file = folder.join(name);
        let same = fs::read_to_string(&file).is_ok_and(|old| old == text);
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
