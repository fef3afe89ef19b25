//! What stands in a definition under `spec.conversion`, and what should.

use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, WebhookConversion,
};
use mxjob_core::RoleTable;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::address::Reach;

/// CAs in a bundle: more than there are operators at a time, also while a Deployment is updated, and
/// few enough that one which starts over and over leaves a bundle of some kilobytes.
pub(super) const MOST: usize = 16;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// What to do about a definition.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// The apiserver asks this operator.
    Fine,
    /// It is of a time before these versions.
    Old(Vec<&'static str>),
    /// This has to be written.
    Write(CustomResourceConversion),
}

/// Whether the apiserver asks here and trusts these CAs, the newest last.
pub(super) fn judge(
    crd: &CustomResourceDefinition,
    table: &'static RoleTable,
    reach: &Reach,
    authorities: &[&str],
) -> Verdict {
    let lacking = lacks(crd, table);
    if !lacking.is_empty() {
        return Verdict::Old(lacking);
    }
    let present = crd.spec.conversion.as_ref();
    let wanted = wanted(present, reach, authorities);
    if present == Some(&wanted) {
        Verdict::Fine
    } else {
        Verdict::Write(wanted)
    }
}

/// The CAs that the apiserver trusts when it asks here; none, when it asks elsewhere.
pub(super) fn trusted(crd: &CustomResourceDefinition, reach: &Reach) -> Vec<String> {
    let webhook = crd
        .spec
        .conversion
        .as_ref()
        .and_then(|conversion| conversion.webhook.as_ref());
    let Some(mut client) = webhook.and_then(|webhook| webhook.client_config.clone()) else {
        return Vec::new();
    };
    let bundle = client.ca_bundle.take();
    if client != reach.client() {
        return Vec::new();
    }
    let text = bundle.map(|bundle| String::from_utf8_lossy(&bundle.0).into_owned());
    let text = text.unwrap_or_default();
    certificates(&text).into_iter().map(str::to_owned).collect()
}

/// The older versions that a definition does not have.
pub(super) fn lacks(
    crd: &CustomResourceDefinition,
    table: &'static RoleTable,
) -> Vec<&'static str> {
    let has = |name: &str| {
        crd.spec
            .versions
            .iter()
            .any(|version| version.name == name && version.served)
    };
    super::older(table).filter(|name| !has(name)).collect()
}

/// What has to stand there for the apiserver to ask here. Whom it trusts already it goes on to trust.
pub(super) fn wanted(
    present: Option<&CustomResourceConversion>,
    reach: &Reach,
    authorities: &[&str],
) -> CustomResourceConversion {
    let bundle = present
        .and_then(|conversion| conversion.webhook.as_ref()?.client_config.as_ref())
        .and_then(|client| client.ca_bundle.as_ref());
    let mut client = reach.client();
    client.ca_bundle = Some(trusting(bundle, authorities));
    CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(WebhookConversion {
            client_config: Some(client),
            conversion_review_versions: vec!["v1".to_owned()],
        }),
    }
}

/// A bundle with these CAs. One that has them stays as it is, whoever wrote it.
fn trusting(bundle: Option<&ByteString>, authorities: &[&str]) -> ByteString {
    let text = bundle.map(|bundle| String::from_utf8_lossy(&bundle.0));
    let text = text.unwrap_or_default();
    let mut all = certificates(&text);
    if let Some(bundle) = bundle
        && authorities.iter().all(|one| all.contains(one))
    {
        return bundle.clone();
    }
    all.retain(|one| !authorities.contains(one));
    all.extend(authorities);
    let surplus = all.len().saturating_sub(MOST);
    let newest: Vec<_> = all.into_iter().skip(surplus).collect();
    ByteString((newest.join("\n") + "\n").into_bytes())
}

/// The certificates of a bundle. The apiserver refuses one with anything else in it.
pub(super) fn certificates(bundle: &str) -> Vec<&str> {
    let blocks = bundle
        .split_inclusive(END)
        .filter_map(|block| Some(block.get(block.rfind(BEGIN)?..)?.trim()));
    blocks.filter(|block| is_authority(block)).collect()
}

fn is_authority(pem: &str) -> bool {
    let der = CertificateDer::from_pem_slice(pem.as_bytes());
    der.is_ok_and(|der| RootCertStore::empty().add(der).is_ok())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::{Duration, SystemTime};

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinitionSpec, CustomResourceDefinitionVersion,
    };
    use mxjob_core::{MxRole, ReplicaRole as _};

    use super::super::identity::Identity;
    use super::*;

    /// A definition that serves these versions.
    pub(in crate::webhook) fn definition(versions: &[&str]) -> CustomResourceDefinition {
        let version = |name: &&str| CustomResourceDefinitionVersion {
            name: (*name).to_owned(),
            served: true,
            ..CustomResourceDefinitionVersion::default()
        };
        CustomResourceDefinition {
            spec: CustomResourceDefinitionSpec {
                versions: versions.iter().map(version).collect(),
                ..CustomResourceDefinitionSpec::default()
            },
            ..CustomResourceDefinition::default()
        }
    }

    fn current(conversion: Option<CustomResourceConversion>) -> CustomResourceDefinition {
        let mut crd = definition(&["v1alpha1", "v1beta1", "v1"]);
        crd.spec.conversion = conversion;
        crd
    }

    fn authority() -> String {
        let day = Duration::from_hours(24);
        let identity = Identity::new(&[], day, SystemTime::now()).unwrap();
        identity.authorities().next().unwrap().to_owned()
    }

    fn service() -> Reach {
        Reach::Service("lab".to_owned())
    }

    fn with(reach: &Reach, bundle: &str) -> CustomResourceConversion {
        let mut conversion = wanted(None, reach, &[]);
        let client = conversion.webhook.as_mut().unwrap().client_config.as_mut();
        client.unwrap().ca_bundle = Some(ByteString(bundle.as_bytes().to_vec()));
        conversion
    }

    fn verdict(present: CustomResourceConversion, authorities: &[&str]) -> Verdict {
        let crd = current(Some(present));
        judge(&crd, MxRole::TABLE, &service(), authorities)
    }

    #[test]
    fn it_is_written_as_the_apiserver_reads_it() {
        let ours = authority();
        let Verdict::Write(written) = judge(&current(None), MxRole::TABLE, &service(), &[&ours])
        else {
            panic!("it is missing");
        };
        let base64 = serde_json::to_value(ByteString(format!("{ours}\n").into())).unwrap();
        let expected = serde_json::json!({
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {
                    "caBundle": base64,
                    "service": {
                        "name": "mxjob-webhook", "namespace": "lab", "path": "/convert", "port": 443,
                    },
                },
                "conversionReviewVersions": ["v1"],
            },
        });
        assert_eq!(serde_json::to_value(&written).unwrap(), expected);
        assert_eq!(verdict(written, &[&ours]), Verdict::Fine);
    }

    #[test]
    fn what_is_there_stays_if_it_can() {
        let [ours, next, other] = [authority(), authority(), authority()];
        let elsewhere = Reach::Url("https://host".parse().unwrap());
        let none = CustomResourceConversion {
            strategy: "None".to_owned(),
            webhook: None,
        };
        let mut beta = with(&service(), &ours);
        beta.webhook.as_mut().unwrap().conversion_review_versions = vec!["v1beta1".to_owned()];
        let broken = format!("{BEGIN}\nAAAA\n{END}\n");
        for (what, present, expected) in [
            ("none", none, vec![&ours, &next]),
            (
                "no bundle",
                wanted(None, &service(), &[]),
                vec![&ours, &next],
            ),
            ("garbage", with(&service(), "garbage"), vec![&ours, &next]),
            ("broken", with(&service(), &broken), vec![&ours, &next]),
            (
                "half",
                with(&service(), ours.get(..99).unwrap()),
                vec![&ours, &next],
            ),
            (
                "before a renewal",
                with(&service(), &ours),
                vec![&ours, &next],
            ),
            (
                "other",
                with(&service(), &other),
                vec![&other, &ours, &next],
            ),
            (
                "elsewhere",
                with(&elsewhere, &format!("{other}\n{ours}")),
                vec![&other, &ours, &next],
            ),
            ("other versions", beta, vec![&ours, &next]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(String::as_str).collect();
            let expected = with(&service(), &(expected.join("\n") + "\n"));
            let verdict = verdict(present, &[&ours, &next]);
            assert_eq!(verdict, Verdict::Write(expected), "{what}");
        }
    }

    #[test]
    fn what_serves_is_left_as_others_wrote_it() {
        let [ours, other] = [authority(), authority()];
        for bundle in [
            format!("{ours}\n{other}"),
            format!("{other}\n\n{ours}\n\n"),
            format!("# the CA of this year\r\n{ours}\r\n"),
            format!("{ours}\n{BEGIN}\nAAAA\n{END}\n"),
        ] {
            let present = with(&service(), &bundle);
            assert_eq!(verdict(present, &[&ours]), Verdict::Fine, "{bundle}");
        }
        // The same CAs, another way.
        let elsewhere = Reach::Url("https://host".parse().unwrap());
        let bundle = format!("{ours}\n{other}");
        let moved = verdict(with(&elsewhere, &bundle), &[&ours]);
        assert_eq!(moved, Verdict::Write(with(&service(), &bundle)));
    }

    #[test]
    fn what_is_trusted_here_is_not_what_is_trusted_elsewhere() {
        let [one, other] = [authority(), authority()];
        let bundle = format!("{one}\n{BEGIN}\nAAAA\n{END}\n{other}\n");
        let there = |reach: &Reach| trusted(&current(Some(with(reach, &bundle))), &service());
        assert_eq!(there(&service()), [one, other]);
        let elsewhere = Reach::Url("https://host".parse().unwrap());
        assert!(there(&elsewhere).is_empty());
        assert!(trusted(&current(None), &service()).is_empty());
        let none = wanted(None, &service(), &[]);
        assert!(trusted(&current(Some(none)), &service()).is_empty());
    }

    #[test]
    fn the_oldest_make_room() {
        let others: Vec<_> = (0..MOST).map(|_| authority()).collect();
        let ours = authority();
        let present = with(&service(), &others.join("\n"));
        let rest = others.get(1..).unwrap().join("\n");
        let expected = with(&service(), &format!("{rest}\n{ours}\n"));
        assert_eq!(verdict(present, &[&ours]), Verdict::Write(expected));
    }

    #[test]
    fn a_definition_without_the_older_versions_is_left_alone() {
        let ours = authority();
        let mut retired = definition(&["v1alpha1", "v1beta1", "v1"]);
        retired.spec.versions.first_mut().unwrap().served = false;
        for (crd, lacking) in [
            (definition(&["v1"]), vec!["v1alpha1", "v1beta1"]),
            (definition(&["v1beta1", "v1"]), vec!["v1alpha1"]),
            (retired, vec!["v1alpha1"]),
        ] {
            let verdict = judge(&crd, MxRole::TABLE, &service(), &[&ours]);
            assert_eq!(verdict, Verdict::Old(lacking));
        }
    }
}
