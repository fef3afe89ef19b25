//! What a process takes, by proc(5). Linux only.

use std::fs;

use anyhow::{Context, Result};

/// Kernel ticks per second in /proc/PID/stat; 100 on every Linux that Rust supports.
const TICKS: f64 = 100.0;

/// What it takes at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Resident memory in MiB.
    pub memory: f64,
    /// The most that it has ever been.
    pub peak: f64,
    /// Processor seconds since its start, of all its threads.
    pub processor: f64,
}

impl Usage {
    /// That of the process now.
    pub fn of(pid: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let mebibytes = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
            let kibibytes: f64 = number.with_context(|| format!("no {name}"))?.parse()?;
            Ok(kibibytes / 1024.0)
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The second field is the program's name, in brackets, and may have spaces.
        let (_, fields) = stat.rsplit_once(") ").context("no program")?;
        let fields: Vec<_> = fields.split(' ').collect();
        let seconds = |place: usize| -> Result<f64> {
            let ticks: f64 = fields.get(place).context("no such field")?.parse()?;
            Ok(ticks / TICKS)
        };
        Ok(Self {
            memory: mebibytes("VmRSS:")?,
            peak: mebibytes("VmHWM:")?,
            // utime and stime, the fields 14 and 15.
            processor: seconds(11)? + seconds(12)?,
        })
    }
}
