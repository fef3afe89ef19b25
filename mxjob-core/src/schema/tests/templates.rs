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

// contract: 3.18
#[test]
fn the_definition_leaves_the_same_parts_of_a_template_open_at_each_version_and_lint_knows_them() {
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
    let definition = crd(MxRole::TABLE);
    for version in Version::ALL {
        let mut known = of(MxRole::TABLE, version);
        assert!(open(&known, version).is_empty(), "{version}");
        for field in template::NOT_LOOKED_INTO {
            let path = format!("{}.spec.{field}", template::of(version));
            let mut fields = 0;
            edit(&mut known, &path, &mut |node| {
                fields = node.properties.iter().flatten().count();
            });
            assert!(fields > 0, "{version}: there is no {field}");
        }
        let mut versions = definition.spec.versions.iter();
        let served = versions.find(|served| served.name == version.name_in(MxRole::TABLE));
        let served = served.and_then(|served| served.schema.clone());
        let served = served.and_then(|schema| schema.open_api_v3_schema).unwrap();
        let wanted = template::NOT_LOOKED_INTO.map(str::to_owned).into();
        assert_eq!(open(&served, version), wanted, "{version}");
    }
}
