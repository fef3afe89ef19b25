//! The commands of the pages, as they are written, by the programs that they name.

mod steps;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use e2e::ControlPlane;
use e2e::binaries::{self, Program};
use e2e::kubelet::{Behaviour, ScriptedKubelet};
use tempfile::TempDir;

use crate::bench::Operator;
use crate::deploy::NAMESPACE;

/// First words of commands.
const PROGRAMS: [&str; 9] = [
    "cargo ", "cd ", "curl ", "deploy/", "docker ", "helm ", "kubectl ", "mxjob ", "OTEL_",
];

/// How a block is shown to be right.
enum How {
    /// It is run here, after these commands of the test's own.
    Run(&'static str),
    /// The same, and the operator that it starts looks after jobs.
    Start(&'static str),
    /// It is run by that file of the repository.
    Elsewhere(&'static str),
    /// It is not, for this reason.
    Never(&'static str),
}

/// What a block of commands begins with, and how it is shown to be right.
type Step = (&'static str, How);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The blocks of commands of a page.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block = String::new();
    let mut before = "";
    for line in page.lines().chain([""]) {
        match line.strip_prefix("    ") {
            // A list goes on with such lines as well, but not after an empty one.
            Some(command) if !block.is_empty() || before.is_empty() => {
                block.push_str(command);
                block.push('\n');
            }
            _ => blocks.extend(Some(std::mem::take(&mut block)).filter(|block| !block.is_empty())),
        }
        before = line;
    }
    let is_command = |block: &String| PROGRAMS.iter().any(|program| block.starts_with(program));
    blocks.retain(is_command);
    blocks
}

/// A machine from which a cluster is looked after: a copy of what the commands name, and the programs.
struct Desk<'a> {
    plane: &'a ControlPlane,
    folder: TempDir,
    words: &'a [(&'a str, &'a str)],
}

impl<'a> Desk<'a> {
    /// Commands say the second words for the first.
    async fn new(plane: &'a ControlPlane, words: &'a [(&'a str, &'a str)]) -> Result<Self> {
        let folder = TempDir::new()?;
        let programs = folder.path().join("bin");
        fs::create_dir(&programs)?;
        for program in [Program::Kubectl, Program::Helm, Program::Kustomize] {
            let path = tokio::task::spawn_blocking(move || binaries::find(program)).await??;
            symlink(path, programs.join(program.name()))?;
        }
        symlink(env!("CARGO_BIN_EXE_e2e-mxjob"), programs.join("mxjob"))?;
        let desk = Self {
            plane,
            folder,
            words,
        };
        let from = repository().display().to_string();
        desk.shell(&format!(
            "cp -r {from}/deploy {from}/crds {from}/examples ."
        ))
        .await?;
        Ok(desk)
    }

    /// Runs commands, which all have to succeed; what they print.
    async fn shell(&self, commands: &str) -> Result<String> {
        let programs = self.folder.path().join("bin").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command
            .args(["-euo", "pipefail", "-c", commands])
            .current_dir(self.folder.path())
            .env("PATH", format!("{programs}:{path}"))
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", self.plane.kubeconfig())
            .stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{commands}\n{printed}\n{said}");
        Ok(printed)
    }

    async fn run(&self, block: &str) -> Result<()> {
        let block = self
            .words
            .iter()
            .fold(block.to_owned(), |block, (word, for_it)| {
                block.replace(word, for_it)
            });
        let (starts, others): (Vec<_>, Vec<_>) = block
            .lines()
            .partition(|line| line.starts_with("mxjob operator"));
        self.shell(&others.join("\n")).await?;
        for line in starts {
            let arguments: Vec<_> = line.split_whitespace().skip(2).collect();
            let operator = Operator::start_with(self.plane, &arguments)?;
            operator.says("caches are complete").await?;
        }
        Ok(())
    }
}

/// Runs the steps of a page one after the other, in a cluster of its own; each block has to be one of them.
async fn page(name: &str, words: &[(&str, &str)], steps: &[Step]) -> Result<()> {
    let text = fs::read_to_string(repository().join(name))?;
    let mut left = blocks(&text);
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let behaviour = |pod: &str, _: &_| {
        if pod.contains("test") {
            Behaviour::RunThenExit {
                after: std::time::Duration::ZERO,
                code: 0,
            }
        } else {
            Behaviour::Run
        }
    };
    let _kubelets = [NAMESPACE, "default"]
        .map(|namespace| ScriptedKubelet::spawn(client.clone(), namespace, behaviour));
    let desk = Desk::new(&plane, words).await?;
    for (begin, how) in steps {
        let at = left.iter().position(|block| block.starts_with(begin));
        let block = left.remove(at.with_context(|| format!("{name} has no block {begin:?}"))?);
        match how {
            How::Run(before) | How::Start(before) => {
                desk.shell(before).await.context("before the block")?;
                let starts = block.contains("mxjob operator");
                ensure!(starts == matches!(how, How::Start(_)), "{block}");
                desk.run(&block)
                    .await
                    .with_context(|| format!("{name}: {block}"))?;
            }
            How::Elsewhere(file) => {
                ensure!(repository().join(file).is_file(), "{file} is gone");
            }
            How::Never(why) => println!("not run, {why}:\n{block}"),
        }
    }
    ensure!(left.is_empty(), "blocks that nobody runs: {left:#?}");
    Ok(())
}

#[test]
fn blocks_of_commands_are_told_from_others() {
    let page = "Text\n\n    kubectl get pods \\\n      -A\n    helm version\n\n* list\n    kubectl no\n\n    - a: b\n";
    assert_eq!(blocks(page), ["kubectl get pods \\\n  -A\nhelm version\n"]);
}
