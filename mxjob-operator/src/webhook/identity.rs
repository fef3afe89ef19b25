//! A certificate, and the CA that vouches for it and for nothing else.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::rustls;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

const DAY: Duration = Duration::from_hours(24);
/// Short enough that what is left of an operator that is gone is soon worth nothing, and that
/// renewals are seen to work.
pub(super) const LIFETIME: Duration = DAY.saturating_mul(90);
/// Leaves a month for an apiserver that cannot be told.
pub(super) const RENEWED_AFTER: Duration = DAY.saturating_mul(60);
/// The apiserver's clock may be behind.
const SKEW: Duration = Duration::from_hours(1);

const NAME: &str = "mxjob-webhook";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    /// It could not be made: a name that no certificate can hold.
    #[error("cannot make a certificate for the webhook: {0}")]
    Make(#[from] rcgen::Error),
    /// It cannot be served.
    #[error("cannot serve the webhook's certificate: {0}")]
    Serve(#[from] rustls::Error),
}

/// What the webhook shows, and whom one has to trust for it.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    authority: String,
    certificate: Arc<CertifiedKey>,
    renewal: SystemTime,
}

impl Identity {
    /// A new one for these names and addresses.
    pub(super) fn new(names: &[String], now: SystemTime) -> Result<Self, IdentityError> {
        let mut authority = valid(CertificateParams::new(Vec::new())?, now);
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate()?;
        let pem = authority.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(authority, authority_key);

        let mut leaf = valid(CertificateParams::new(names)?, now);
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Of several CAs of one name this says which.
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let chain = vec![leaf.signed_by(&key, &issuer)?.into()];
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let certificate = CertifiedKey::from_der(chain, key, &ring::default_provider())?;
        Ok(Self {
            authority: pem.trim().to_owned(),
            certificate: Arc::new(certificate),
            renewal: now + RENEWED_AFTER,
        })
    }

    /// The CA, in PEM.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether it is time for the next one.
    pub(super) fn is_due(&self, now: SystemTime) -> bool {
        now >= self.renewal
    }
}

fn valid(mut params: CertificateParams, now: SystemTime) -> CertificateParams {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(SKEW);
    params.not_after = epoch + now + LIFETIME;
    params.distinguished_name.push(DnType::CommonName, NAME);
    params
}

/// The certificate that new connections are shown.
#[derive(Debug)]
pub(super) struct Served(RwLock<Arc<CertifiedKey>>);

impl Served {
    pub(super) fn new(identity: &Identity) -> Self {
        Self(RwLock::new(identity.certificate.clone()))
    }

    /// Connections that are open keep theirs.
    pub(super) fn change(&self, identity: &Identity) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = identity.certificate.clone();
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(
            self.0
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        )
    }
}
