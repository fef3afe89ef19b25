//! `mxjob operator`: what it is told by flags, variables and files.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// An operator that finds nothing in the environment, and serves nothing.
fn operator(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mxjob"));
    command
        .arg("operator")
        .env_clear()
        .env("HOME", home)
        .env("MXJOB_METRICS_BIND_ADDRESS", "0")
        .env("MXJOB_HEALTH_PROBE_BIND_ADDRESS", "0")
        .env("MXJOB_WEBHOOK_BIND_ADDRESS", "0")
        .stdin(Stdio::null());
    command
}

/// What it says when it ends by itself, with 1.
fn complaint(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

// contract: 11.12
// promise: P92
#[test]
fn the_first_that_names_a_cluster_decides() {
    let home = TempDir::new().unwrap();
    let file = |name: &str| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // None of them can be used: the one that was tried is in the message.
        fs::write(&path, "clusters: 7\n").unwrap();
        path
    };
    let (flag, first) = (file("flag"), file("first"));
    let (second, last) = (file("second"), file(".kube/config"));
    let all = |command: &mut Command| {
        command.env("KUBECONFIG", &first);
        command.env("USE_KUBE_CONFIG", &second);
    };

    let mut command = operator(home.path());
    all(&mut command);
    command.arg("--kubeconfig").arg(&flag);
    let tried = |path: &Path| format!(" {}: ", path.display());
    let said = complaint(command);
    assert!(said.contains(&tried(&flag)), "{said}");

    let mut command = operator(home.path());
    all(&mut command);
    command.env("MXJOB_KUBECONFIG", &flag);
    let said = complaint(command);
    assert!(said.contains(&tried(&flag)), "{said}");

    let mut command = operator(home.path());
    all(&mut command);
    let said = complaint(command);
    assert!(said.contains(&tried(&first)), "{said}");

    let mut command = operator(home.path());
    all(&mut command);
    command.env("KUBECONFIG", "");
    let said = complaint(command);
    assert!(said.contains(&tried(&second)), "{said}");

    let said = complaint(operator(home.path()));
    assert!(said.contains(&tried(&last)), "{said}");

    fs::remove_file(&last).unwrap();
    let said = complaint(operator(home.path()));
    assert!(said.contains("no cluster: give --kubeconfig"), "{said}");
}

// contract: 11.13
#[test]
fn each_flag_is_a_variable_too() {
    let home = TempDir::new().unwrap();
    let output = operator(home.path()).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let words: Vec<_> = help.split_whitespace().collect();
    let flags: Vec<_> = words
        .iter()
        .filter_map(|word| word.strip_prefix("--"))
        .filter(|flag| {
            *flag != "help"
                && flag
                    .chars()
                    .all(|one| one.is_ascii_lowercase() || one == '-')
        })
        .collect();
    assert!(flags.contains(&"install-crds"), "{help}");
    for flag in flags {
        let variable = format!("[env: MXJOB_{}=", flag.to_uppercase().replace('-', "_"));
        assert!(help.contains(&variable), "{variable} is not in\n{help}");
    }
}

#[test]
fn a_webhook_that_cannot_be_called_is_refused() {
    let home = TempDir::new().unwrap();
    let mut command = operator(home.path());
    let output = command
        .args(["--webhook-url", "http://host:9443"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("--webhook-url <URL>': must begin with https://"),
        "{said}"
    );
    // A variable that is set to nothing is not set.
    let mut command = operator(home.path());
    command.env("MXJOB_WEBHOOK_URL", "");
    let said = complaint(command);
    assert!(said.contains("no cluster: give --kubeconfig"), "{said}");
}

#[test]
fn a_webhook_address_that_is_taken_is_named() {
    let home = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = operator(home.path());
    command.args(["--webhook-bind-address", &address]);
    let said = complaint(command);
    let expected = format!("--webhook-bind-address {address}: Address already in use");
    assert!(said.contains(&expected), "{said}");
}

// contract: 11.14
#[test]
fn the_configuration_file_has_two_spellings_and_a_variable() {
    let home = TempDir::new().unwrap();
    for flag in ["--controller-config-file", "--controller_config_file"] {
        let mut command = operator(home.path());
        command.args([flag, "nowhere.yaml"]);
        let said = complaint(command);
        assert!(said.contains("nowhere.yaml: error: no such file"), "{said}");
    }
    let mut command = operator(home.path());
    command.env("MXJOB_CONTROLLER_CONFIG_FILE", "nowhere.yaml");
    let said = complaint(command);
    assert!(said.contains("nowhere.yaml: error: no such file"), "{said}");
}

#[test]
fn a_cluster_that_cannot_be_reached_is_named() {
    let home = TempDir::new().unwrap();
    // A port that was free a moment ago, and nobody listens on.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let kubeconfig = home.path().join("kubeconfig");
    let text = format!(
        "clusters: [{{name: away, cluster: {{server: {server}}}}}]\n\
         contexts: [{{name: away, context: {{cluster: away, user: ''}}}}]\n\
         current-context: away\n"
    );
    fs::write(&kubeconfig, text).unwrap();
    let mut command = operator(home.path());
    command.arg("--kubeconfig").arg(&kubeconfig);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let said = lines.find(|line| line.contains("cannot look for other operators"));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = said.unwrap();
    let wanted = format!("cannot reach {server}: ");
    assert!(
        said.contains(&wanted) && said.ends_with("Connection refused (os error 111)"),
        "{said}"
    );
}

/// What the older operators took and did nothing with.
// defect: D24
#[test]
fn a_flag_that_would_do_nothing_is_refused() {
    let home = TempDir::new().unwrap();
    for flag in ["--gc-interval=10m", "--chaos-level=1"] {
        let output = operator(home.path()).arg(flag).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let name = flag.split('=').next().unwrap();
        assert!(
            said.contains(&format!("unexpected argument '{name}'")),
            "{said}"
        );
    }
}
