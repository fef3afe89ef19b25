//! Field paths, as problems carry them.

use std::fmt;

/// The place of a value in an object: a list of steps from the root, kept on the stack of whoever
/// walks the object and only written out when there is something to say about it.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    above: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Item(usize),
}

impl Path<'_> {
    /// The object itself.
    pub const ROOT: Path<'static> = Path {
        above: None,
        step: Step::Root,
    };

    /// The value of a key below here.
    pub const fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path {
            above: Some(self),
            step: Step::Key(key),
        }
    }

    /// An item of the list here.
    pub const fn item(&self, index: usize) -> Path<'_> {
        Path {
            above: Some(self),
            step: Step::Item(index),
        }
    }
}

/// Like `spec.mxReplicaSpecs.Worker.template.spec.containers[0].resources.limits[nvidia.com/gpu]`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            above.fmt(out)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Item(index) => write!(out, "[{index}]"),
            Step::Key(key) if !is_plain(key) => write!(out, "[{key}]"),
            Step::Key(key) if self.is_first() => out.write_str(key),
            Step::Key(key) => write!(out, ".{key}"),
        }
    }
}

impl Path<'_> {
    fn is_first(&self) -> bool {
        self.above.is_none_or(|above| above.above.is_none())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|one| one.is_alphanumeric() || matches!(one, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_kubernetes_writes_it() {
        assert_eq!(Path::ROOT.to_string(), "");
        let spec = Path::ROOT.key("spec");
        let list = spec.key("containers");
        let item = list.item(2);
        let limits = item.key("limits");
        assert_eq!(
            limits.key("nvidia.com/gpu").to_string(),
            "spec.containers[2].limits[nvidia.com/gpu]"
        );
    }
}
