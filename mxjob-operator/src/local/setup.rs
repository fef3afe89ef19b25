//! Everything that can be known to be wrong before anything is started.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mxjob_core::Job;
use mxjob_core::job::Attempt;
use mxjob_core::job::{Replica, Spec};
use mxjob_core::model::Cluster;
use mxjob_core::role::RoleTable;
use mxjob_core::wiring::{Addresses, Wiring, names};
use serde_json::Value;

use super::board::Board;
use super::error::RunError;
use super::program::{Machine, ProgramError};
use super::{ports, python, remarks};

/// A job that can run on this machine, as far as one can tell.
#[derive(Debug)]
pub(super) struct Setup {
    /// The job.
    pub(super) job: Job,
    /// The manifest's object.
    pub(super) object: Value,
    /// What of this machine its replicas see.
    pub(super) machine: Machine,
    /// The Python that it asks for.
    pub(super) python: Option<python::Request>,
    /// Things of the manifest that do nothing here.
    pub(super) remarks: Vec<String>,
    addresses: Addresses,
}

impl Setup {
    /// Reads the job of a manifest that lies in `folder`.
    pub(super) fn new(
        table: &'static RoleTable,
        mut object: Value,
        folder: &Path,
        named: Option<PathBuf>,
    ) -> Result<Self, RunError> {
        let job = Job::read(table, &object);
        let name = job.meta.name.clone();
        let spec = match &job.spec {
            Err(problems) => {
                return Err(RunError::Invalid {
                    name,
                    problems: problems.clone(),
                });
            }
            Ok(spec) if spec.suspend => return Err(RunError::Suspended(name)),
            Ok(_) if job.meta.managed_elsewhere => return Err(RunError::ManagedElsewhere(name)),
            Ok(spec) => spec,
        };
        let folder = folder
            .canonicalize()
            .map_err(RunError::system("find the manifest's folder"))?;
        let requirements = object
            .pointer("/metadata/annotations")
            .and_then(|all| all.get(python::ANNOTATION));
        let requirements = requirements
            .and_then(Value::as_str)
            .map(|file| folder.join(file));
        let env = std::env::vars_os().collect();
        let machine = Machine {
            folder,
            env,
            venv: None,
            config_env: table.config_env,
        };
        let mut remarks = remarks::of(spec, table, &machine);
        if let (Some(python), None) = (&named, &requirements) {
            let annotation = python::ANNOTATION;
            remarks.push(format!(
                "--python {}: not used, as no annotation {annotation} is given",
                python.display()
            ));
        }
        forget_ttl(&mut object);
        let ports = ports::free(spec.replicas()).ok_or_else(|| RunError::NoPorts(spec.wanted()))?;
        let python = requirements.map(|requirements| python::Request {
            requirements,
            python: named,
        });
        Ok(Self {
            job,
            object,
            machine,
            python,
            remarks,
            addresses: Addresses::Loopback(ports),
        })
    }

    /// Looks whether every replica has something to run. Before the virtual environment is there a
    /// program that is missing may still come with it.
    pub(super) fn check_programs(&self) -> Result<(), RunError> {
        let spec = self.spec()?;
        let still_to_come = self.python.is_some() && self.machine.venv.is_none();
        let wiring = Wiring::new(&self.job, spec, self.addresses.clone());
        for (role, replica) in spec
            .roles
            .iter()
            .flat_map(|role| role.replicas().map(move |replica| (role, replica)))
        {
            let Some(pod) = wiring.pod(replica, Attempt::default()) else {
                continue;
            };
            match self.machine.launch(&pod, role.container(self.job.table)) {
                Ok(_) => {}
                Err(ProgramError::NoProgram(_)) if still_to_come => {}
                Err(source) => {
                    return Err(RunError::Program {
                        replica: names::short(self.job.table, replica),
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    /// A cluster with the job in it.
    pub(super) fn cluster(&self, now: Timestamp) -> Result<Cluster, RunError> {
        let mut cluster = Cluster::new(self.job.table, self.addresses.clone());
        cluster
            .create_job(self.object.clone(), now)
            .map_err(|error| RunError::system("take the job")(std::io::Error::other(error)))?;
        Ok(cluster)
    }

    /// The replicas, none of them started.
    pub(super) fn board(&self) -> Result<Board, RunError> {
        Ok(Board::new(self.job.table, self.spec()?))
    }

    /// What the job asks for.
    pub(super) fn spec(&self) -> Result<&Spec, RunError> {
        let invalid = |problems: &Vec<_>| RunError::Invalid {
            name: self.job.meta.name.clone(),
            problems: problems.clone(),
        };
        self.job.spec.as_ref().map_err(invalid)
    }

    /// The loopback port of a replica.
    pub(super) fn port(&self, replica: Replica) -> Option<u16> {
        match &self.addresses {
            Addresses::Loopback(ports) => ports.get(&replica).copied(),
            Addresses::Cluster => None,
        }
    }
}

/// A finished job must not be deleted before its end was told.
fn forget_ttl(object: &mut Value) {
    for place in ["/spec", "/spec/runPolicy"] {
        if let Some(policy) = object.pointer_mut(place).and_then(Value::as_object_mut) {
            policy.remove("ttlSecondsAfterFinished");
        }
    }
}
