//! The controller's configuration file.

use std::path::PathBuf;

use clap::Args;
use mxjob_core::accelerators::Accelerators;
use mxjob_core::problem::Problem;

use super::document::Document;
use super::finding::{Finding, Findings, Paint};
use super::input::Input;
use super::yaml;

/// Where that file is.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigFile {
    /// File that says which folders of the node and which variables belong to an accelerator
    #[arg(
        long,
        visible_alias = "controller_config_file",
        env = "MXJOB_CONTROLLER_CONFIG_FILE",
        value_name = "FILE"
    )]
    controller_config_file: Option<PathBuf>,
}

/// The file cannot be used; the text says why, a line for each mistake with its place.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ConfigError(String);

impl ConfigFile {
    /// What it says; without a file: nothing.
    pub(crate) fn load(&self) -> Result<Accelerators, ConfigError> {
        let Some(path) = &self.controller_config_file else {
            return Ok(Accelerators::default());
        };
        let input = Input::read(path).map_err(|finding| {
            let ConfigError(said) = error(vec![finding]);
            ConfigError(format!("--controller-config-file {said}"))
        })?;
        read(&input).map_err(error)
    }
}

fn error(found: Vec<Finding>) -> ConfigError {
    let mut findings = Findings::default();
    findings.add(found);
    ConfigError(findings.text(Paint::Plain).trim_end().to_owned())
}

fn read(input: &Input) -> Result<Accelerators, Vec<Finding>> {
    let finding = |number, position, problem| Finding::new(&input.name, number, position, problem);
    let mut nodes = yaml::documents(&input.text)
        .map_err(|error| {
            vec![finding(
                0,
                error.position,
                Problem::error("", error.message),
            )]
        })?
        .into_iter();
    let Some(node) = nodes.next() else {
        return Ok(Accelerators::default());
    };
    let document = Document::new(1, node);
    if let Some(more) = nodes.next() {
        let message = "holds more than one document: one is all that is read";
        let more = Document::new(2, more).position("");
        return Err(vec![finding(2, more, Problem::error("", message))]);
    }
    Accelerators::read(&document.value).map_err(|problems| {
        let place = |problem: Problem| finding(1, document.position(&problem.path), problem);
        problems.into_iter().map(place).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        std::fs::write(&path, text).unwrap();
        let file = ConfigFile {
            controller_config_file: Some(path),
        };
        let said = file.load().map(|_| ()).map_err(|error| error.to_string());
        let folder = format!("{}/", folder.path().display());
        said.err().unwrap_or_default().replace(&folder, "")
    }

    // contract: 5.4.5
    #[test]
    fn every_mistake_is_said_with_its_place() {
        let text = "accelerators:
  nvidia.com/gpu:
    volumes:
    - name: lib
      hostPath: /usr/lib
    - {name: Lib, hostPath: lib, mountPath: /lib}
    envVars:
    - {name: A, value: 1}
    - {value: x}
";
        assert_eq!(
            said(text),
            "config.yaml:4:7: error: accelerators[nvidia.com/gpu].volumes[0]: mountPath is missing
config.yaml:6:8: error: accelerators[nvidia.com/gpu].volumes[1].name: must be lower-case letters, digits and -, 63 at most, as Kubernetes names volumes
config.yaml:6:19: error: accelerators[nvidia.com/gpu].volumes[1].hostPath: must begin with /
config.yaml:8:17: error: accelerators[nvidia.com/gpu].envVars[0].value: must be a text: put it in quotes
config.yaml:9:7: error: accelerators[nvidia.com/gpu].envVars[1]: name is missing"
        );
        assert_eq!(
            said("a: 1\n---\nb: 2\n"),
            "config.yaml:3:1: error: holds more than one document: one is all that is read"
        );
        assert!(
            said("accelerators: {").starts_with("config.yaml:1:"),
            "{}",
            said("accelerators: {")
        );
        assert_eq!(said(""), "");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let file = ConfigFile {
            controller_config_file: Some("nowhere/config.yaml".into()),
        };
        let error = file.load().unwrap_err().to_string();
        assert_eq!(
            error,
            "--controller-config-file nowhere/config.yaml: error: no such file"
        );
        let none = ConfigFile {
            controller_config_file: None,
        };
        assert_eq!(none.load().unwrap(), Accelerators::default());
    }
}
