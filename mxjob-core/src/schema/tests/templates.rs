//! What of a pod template the versions of a definition have.

use std::collections::BTreeSet;

use super::super::*;
use super::each;
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

// contract: 12.46
#[test]
fn a_view_keeps_parts_of_a_template_that_the_stored_version_and_lint_know() {
    let crd = crd(MxRole::TABLE);
    let served = |version: Version| {
        let all = crd.spec.versions.iter();
        let mut found = all.filter(|served| served.name == version.name_in(MxRole::TABLE));
        let schema = found.find_map(|served| served.schema.clone());
        schema.and_then(|schema| schema.open_api_v3_schema).unwrap()
    };
    let open = |root: &JSONSchemaProps, version| {
        let mut found = BTreeSet::new();
        each(root, "", &mut |path, node| {
            if node.x_kubernetes_preserve_unknown_fields == Some(true) {
                let template = format!(".{}.spec.", template::of(version));
                found.insert(path.strip_prefix(&template).unwrap().to_owned());
            }
        });
        found
    };
    for version in Version::ALL {
        let mut whole = of(MxRole::TABLE, version);
        assert!(open(&whole, version).is_empty(), "{version}");
        let stored = version == Version::stored(MxRole::TABLE);
        let mut wanted = BTreeSet::new();
        for field in template::NOT_LOOKED_INTO.into_iter().filter(|_| !stored) {
            let path = format!("{}.spec.{field}", template::of(version));
            edit(&mut whole, &path, &mut |node| {
                assert!(node.properties.is_some(), "{version}: {field}");
                wanted.insert(field.to_owned());
            });
            assert!(wanted.contains(field), "{version}: there is no {field}");
        }
        assert_eq!(open(&served(version), version), wanted, "{version}");
    }
}
