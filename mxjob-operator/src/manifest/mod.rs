//! Manifests: YAML or JSON, one document or many, from a file or standard input. What is wrong with
//! them is said with file, line and column.

mod comments;
mod config_file;
mod document;
mod finding;
mod identity;
mod input;
mod job;
mod judge;
mod load;
mod older;
mod print;
mod readable;
mod yaml;

pub(crate) use comments::Comments;
pub(crate) use config_file::{ConfigError, ConfigFile};
pub(crate) use finding::{Findings, Paint, plural};
pub(crate) use input::Input;
pub(crate) use judge::judge;
pub(crate) use load::{Manifest, load_job, load_jobs, load_manifests};
pub(crate) use older::errors;
pub(crate) use print::to_yaml;
