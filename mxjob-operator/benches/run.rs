//! What `mxjob run` costs beside the same five processes started by a shell script:
//! `cargo bench -p mxjob-operator --bench run`. Linux only.
//!
//! Both train the digits job, turn about, in the same Python environment; the ratio of their wall
//! times counts, not the times. While the job trains, mxjob's own memory and processor time are read
//! from /proc. How soon the first replica starts is measured with a job that prints the time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

const ROUNDS: usize = 9;
/// Kernel ticks per second in /proc/PID/stat; 100 on every Linux that Rust supports.
const TICKS: f64 = 100.0;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the workspace")?;
    let example = root.join("examples/train");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    ensure!(
        mxjob(&example, &cache).status()?.success(),
        "the digits job does not run"
    );
    let python = environment(&cache)?;

    let (mut ours, mut theirs, mut usage) = (Vec::new(), Vec::new(), Usage::default());
    for _ in 0..ROUNDS {
        theirs.push(timed(&mut script(&example, &python), |_| {})?);
        ours.push(timed(&mut mxjob(&example, &cache), |child| {
            usage.sample(child);
        })?);
    }
    let ratios: Vec<f64> = ours
        .iter()
        .zip(&theirs)
        .map(|(ours, theirs)| ours / theirs)
        .collect();
    println!("digits job, {ROUNDS} rounds turn about, medians");
    println!(
        "  shell script                    {:>8.2} s",
        median(&theirs)
    );
    println!("  mxjob run                       {:>8.2} s", median(&ours));
    println!(
        "  ratio of each round             {:>8.3}    (wanted: 1.10 or less)",
        median(&ratios)
    );
    println!(
        "  mxjob's memory, peak            {:>8.1} MiB (wanted: under 20)",
        usage.peak_mib
    );
    println!(
        "  mxjob's part of a core          {:>8.2} %   (wanted: under 2)",
        100.0 * usage.cpu / usage.wall
    );
    let starts = (0..ROUNDS)
        .map(|_| first_start())
        .collect::<Result<Vec<_>>>()?;
    println!(
        "  first replica started after     {:>8.1} ms  (wanted: under 100)",
        1e3 * median(&starts)
    );
    Ok(())
}

fn mxjob(example: &Path, cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mxjob"));
    command
        .arg("run")
        .arg(example.join("digits.yaml"))
        .env("XDG_CACHE_HOME", cache);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn script(example: &Path, python: &Path) -> Command {
    let mut command = Command::new("bash");
    command.arg("baseline.sh").arg(python).current_dir(example);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The Python of the one environment in the cache.
fn environment(cache: &Path) -> Result<PathBuf> {
    let mut found = fs::read_dir(cache.join("mxjob/venvs"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let python = found.find_map(|venv| Some(venv.join("bin/python")).filter(|path| path.exists()));
    python.with_context(|| format!("no Python environment below {}", cache.display()))
}

/// Wall time of a command in seconds; `watch` is called again and again while it runs.
fn timed(command: &mut Command, mut watch: impl FnMut(&Child)) -> Result<f64> {
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        watch(&child);
        std::thread::sleep(Duration::from_millis(2));
    };
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(start.elapsed().as_secs_f64())
}

/// What mxjob itself used, over all rounds.
#[derive(Default)]
struct Usage {
    peak_mib: f64,
    cpu: f64,
    wall: f64,
    last: Option<(u32, f64, Instant)>,
}

impl Usage {
    fn sample(&mut self, child: &Child) {
        let id = child.id();
        let Some((mib, cpu)) = read(id) else { return };
        let now = Instant::now();
        self.peak_mib = self.peak_mib.max(mib);
        match self.last {
            Some((known, before, at)) if known == id => {
                self.cpu += cpu - before;
                self.wall += now.duration_since(at).as_secs_f64();
            }
            _ => self.cpu += cpu,
        }
        self.last = Some((id, cpu, now));
    }
}

/// Peak resident memory in MiB and processor seconds of a process.
fn read(id: u32) -> Option<(f64, f64)> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let mib = peak.trim().trim_end_matches(" kB").parse::<f64>().ok()? / 1024.0;
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    Some((mib, (ticks(11)? + ticks(12)?) / TICKS))
}

/// Seconds from the command to the first line of the first replica.
fn first_start() -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let manifest = folder.path().join("job.yaml");
    fs::write(
        &manifest,
        "apiVersion: kubeflow.org/v1\nkind: MXJob\nmetadata: {name: clock}\nspec:\n  mxReplicaSpecs:\n    Worker:\n      \
         template: {spec: {containers: [{name: mxnet, image: none, command: [date, '+NOW %s.%N']}]}}\n",
    )?;
    let start = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    let output = Command::new(env!("CARGO_BIN_EXE_mxjob"))
        .arg("run")
        .arg(&manifest)
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    let now = text
        .split("NOW ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let now: f64 = now
        .with_context(|| format!("no time in {text:?}"))?
        .parse()?;
    Ok(now - start)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
