//! What of a pod template the versions of a definition have.

use super::super::*;
use crate::{MxRole, ReplicaRole};

#[test]
fn no_version_takes_containers_of_running_pods() {
    for version in Version::ALL {
        let mut root = of(MxRole::TABLE, version);
        let mut most = None;
        let path = format!("{}.spec.ephemeralContainers", template::of(version));
        edit(&mut root, &path, &mut |node| most = node.max_items);
        assert_eq!(most, Some(0), "{version}");
    }
}
