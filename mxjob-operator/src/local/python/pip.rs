//! Reads what pip and uv print: how far they are, and why they failed.

/// What pip does now, as its line says; and whether that is worth a line of ours.
pub(super) fn step(line: &str) -> Option<(String, bool)> {
    let line = line.trim();
    if line.contains("Retrying (Retry(") {
        return Some((
            "no connection to the package index, trying again".to_owned(),
            true,
        ));
    }
    let (word, rest) = line.split_once(' ')?;
    match word {
        "Collecting" => Some((format!("looking up {}", requirement(rest)), false)),
        "Downloading" if !rest.ends_with(".metadata") && !rest.contains(".metadata (") => {
            Some((format!("downloading {}", file(rest)), true))
        }
        "Using" => rest
            .strip_prefix("cached ")
            .map(|rest| (format!("using {}, downloaded earlier", file(rest)), false)),
        "Processing" => Some((format!("reading {}", file(rest)), false)),
        "Building" => Some((
            format!(
                "building {}",
                rest.strip_prefix("wheel for ").unwrap_or(rest)
            ),
            true,
        )),
        "Installing" => rest
            .strip_prefix("collected packages: ")
            .map(|names| (format!("installing {names}"), true)),
        _ => None,
    }
}

/// `mxnet==1.9.1 (from -r …)` as `mxnet 1.9.1`.
fn requirement(text: &str) -> String {
    let text = text.split([' ', ';']).next().unwrap_or(text);
    text.replace("==", " ")
}

/// `mxnet-1.9.1-py3-none-manylinux2014_x86_64.whl (49.1 MB)` as `mxnet 1.9.1 (49.1 MB)`.
fn file(text: &str) -> String {
    let (path, size) = text
        .split_once(" (")
        .map_or((text, None), |(path, size)| (path, Some(size)));
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut parts = name.split('-');
    let name = match (parts.next(), parts.next()) {
        (Some(package), Some(version)) => {
            let version = [".tar.gz", ".zip", ".whl"]
                .iter()
                .find_map(|end| version.strip_suffix(end))
                .unwrap_or(version);
            format!("{package} {version}")
        }
        _ => name.to_owned(),
    };
    size.map_or(name.clone(), |size| format!("{name} ({size}"))
}

/// What pip and uv say in the cases that people meet, and what to do then. The order matters: without
/// a network pip in the end also finds no matching version.
const CAUSES: [(&[&str], &str); 6] = [
    (
        &[
            "No space left on device",
            "Disk quota exceeded",
            "os error 28",
        ],
        "the disk is full; make room, or set XDG_CACHE_HOME to another disk",
    ),
    (
        &[
            "CERTIFICATE_VERIFY_FAILED",
            "invalid peer certificate",
            "SSLError",
        ],
        "the package index's certificate is not trusted; set PIP_CERT to your certificate authority's file",
    ),
    (
        &[
            "Failed to establish a new connection",
            "Temporary failure in name resolution",
            "Name or service not known",
            "Network is unreachable",
            "Connection refused",
            "Max retries exceeded",
            "ConnectTimeoutError",
            "ReadTimeoutError",
            "ProxyError",
            "dns error",
            "error sending request",
            "Failed to fetch",
            "client error (Connect)",
        ],
        "no connection to the package index; check the network (HTTPS_PROXY, PIP_INDEX_URL) and run again",
    ),
    (
        &[
            "No matching distribution found",
            "Could not find a version",
            "No solution found",
            "ResolutionImpossible",
        ],
        "a requirement has no version for this Python and system; change it, or name another Python with --python",
    ),
    (
        &[
            "Failed building wheel",
            "Failed to build",
            "error: command",
            "Microsoft Visual C++",
            "metadata-generation-failed",
        ],
        "a requirement has to be compiled and that failed; install a compiler, or ask for a version that has a wheel",
    ),
    (
        &[
            "Invalid requirement",
            "Expected package name",
            "Couldn't parse requirement",
        ],
        "the file has a mistake; correct it",
    ),
];

/// The likely cause of a failure, and what to do.
pub(super) fn cause(lines: &[String]) -> Option<&'static str> {
    let said = |words: &[&str]| {
        words
            .iter()
            .any(|word| lines.iter().any(|line| line.contains(word)))
    };
    CAUSES
        .iter()
        .find(|(words, _)| said(words))
        .map(|(_, cause)| *cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_for_each_line_that_says_one() {
        for (line, expected) in [
            (
                "Collecting mxnet==1.9.1 (from -r requirements.txt (line 5))",
                "looking up mxnet 1.9.1",
            ),
            (
                "  Downloading mxnet-1.9.1-py3-none-manylinux2014_x86_64.whl (49.1 MB)",
                "downloading mxnet 1.9.1 (49.1 MB)",
            ),
            (
                "  Downloading https://x.org/a/foo-1.0.tar.gz (2 kB)",
                "downloading foo 1.0 (2 kB)",
            ),
            (
                "Processing /opt/wheels/numpy-1.23.5-cp311-cp311-linux.whl",
                "reading numpy 1.23.5",
            ),
            (
                "  Using cached scipy-1.10.1-cp311.whl (34.1 MB)",
                "using scipy 1.10.1 (34.1 MB), downloaded earlier",
            ),
            (
                "  Building wheel for foo (setup.py): started",
                "building foo (setup.py): started",
            ),
            (
                "Installing collected packages: numpy, mxnet",
                "installing numpy, mxnet",
            ),
            (
                "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by …",
                "no connection to the package index, trying again",
            ),
        ] {
            assert_eq!(
                step(line).map(|(step, _)| step).as_deref(),
                Some(expected),
                "{line}"
            );
        }
        for silent in [
            "",
            "Requirement already satisfied: numpy",
            "  Downloading numpy-1-cp311.whl.metadata (2.3 kB)",
        ] {
            assert_eq!(step(silent), None, "{silent}");
        }
    }

    #[test]
    fn without_a_network_the_network_is_to_blame() {
        let lines = [
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to establish a new connection: [Errno 111] Connection refused')': /simple/mxnet/",
            "ERROR: No matching distribution found for mxnet==1.9.1",
        ];
        assert!(
            cause(&lines.map(str::to_owned))
                .unwrap()
                .starts_with("no connection to the package index")
        );
        assert!(
            cause(&[lines[1].to_owned()])
                .unwrap()
                .starts_with("a requirement has no version")
        );
        assert_eq!(cause(&["ERROR: something new".to_owned()]), None);
    }
}
