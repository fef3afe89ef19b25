//! A certificate authority for one control plane.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Names under which clients reach the apiserver; the last is what a pod would use.
const SERVER_NAMES: [&str; 4] = [
    "127.0.0.1",
    "localhost",
    "kubernetes.default.svc",
    "10.96.0.1",
];

/// Writes `ca.crt`, `server.crt`, `server.key` (the apiserver's) and `sa.key`, `sa.pub`
/// (service account tokens are signed with it) into `folder`; returns the CA in PEM.
pub(crate) fn write(folder: &Path) -> Result<String> {
    let put = |name: &str, content: &str| {
        fs::write(folder.join(name), content).with_context(|| format!("cannot write {name}"))
    };

    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    put("ca.crt", &authority_pem)?;
    let issuer = Issuer::new(authority, authority_key);

    let mut server = CertificateParams::new(SERVER_NAMES.map(str::to_owned))?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let server_key = KeyPair::generate()?;
    put("server.crt", &server.signed_by(&server_key, &issuer)?.pem())?;
    put("server.key", &server_key.serialize_pem())?;

    let tokens = KeyPair::generate()?;
    put("sa.key", &tokens.serialize_pem())?;
    put("sa.pub", &tokens.public_key_pem())?;
    Ok(authority_pem)
}
