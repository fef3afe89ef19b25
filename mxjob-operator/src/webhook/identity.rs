//! A certificate, and the CA that vouches for it.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::rustls;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier as _;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, RootCertStore};

use super::conversion;

/// The apiserver's clock may be behind, and this one may be set back.
const SKEW: Duration = Duration::from_hours(24);
/// CAs of one certificate: those of several have to fit into a bundle.
const MOST: usize = 4;

const NAME: &str = "mxjob-webhook";

/// Where a certificate is kept, in the words of Kubernetes.
pub(super) const AUTHORITY: &str = "ca.crt";
pub(super) const CERTIFICATE: &str = "tls.crt";
pub(super) const KEY: &str = "tls.key";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    /// It could not be made: a name that no certificate can hold.
    #[error("cannot make a certificate for the webhook: {0}")]
    Make(#[from] rcgen::Error),
    /// One that was just made is of no use.
    #[error("cannot make a certificate for the webhook: {0}")]
    Use(#[from] Flaw),
    /// It cannot be served.
    #[error("cannot serve the webhook's certificate: {0}")]
    Serve(#[from] rustls::Error),
}

/// What is wrong with a certificate that is kept somewhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    /// There never was one.
    #[error("there is no certificate in it")]
    Nothing,
    /// A part of it is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A part of it is something else.
    #[error("{0} is not PEM of what it should be")]
    Unreadable(&'static str),
    /// More CAs than there is room for.
    #[error("{AUTHORITY} has more than {MOST} certificates")]
    Many,
    /// The halves do not belong together.
    #[error("{KEY} is not the key of {CERTIFICATE}")]
    OtherKey,
    /// Nobody who trusts this CA trusts the certificate.
    #[error("{CERTIFICATE} is not signed by {AUTHORITY}")]
    OtherAuthority,
    /// It is not for this webhook.
    #[error("{CERTIFICATE} is not for {0}")]
    OtherName(String),
    /// Its time is over.
    #[error("{CERTIFICATE} has expired")]
    Expired,
    /// By this machine's clock.
    #[error("{CERTIFICATE} is of a time to come")]
    Early,
    /// Anything else.
    #[error("{CERTIFICATE} cannot be used: {0}")]
    Unusable(String),
}

/// What the webhook shows, and whom one has to trust for it.
#[derive(Clone)]
pub(super) struct Identity {
    authorities: Vec<String>,
    chain: String,
    key: String,
    certificate: Arc<CertifiedKey>,
}

/// The key is nobody's business.
impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Identity");
        shown.field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        (&self.authorities, &self.chain, &self.key)
            == (&other.authorities, &other.chain, &other.key)
    }
}

impl Identity {
    /// A new one for these names and addresses, with a CA whose key nobody has afterwards.
    pub(super) fn new(
        names: &[String],
        lifetime: Duration,
        now: SystemTime,
    ) -> Result<Self, IdentityError> {
        let mut authority = valid(CertificateParams::new(Vec::new())?, lifetime, now);
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate()?;
        let authorities = authority.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(authority, authority_key);

        let mut leaf = valid(CertificateParams::new(names)?, lifetime, now);
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Of several CAs of one name this says which.
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let chain = leaf.signed_by(&key, &issuer)?.pem();
        let identity = Self::read(&authorities, &chain, &key.serialize_pem())?;
        identity.check(names, now)?;
        Ok(identity)
    }

    /// One that is kept somewhere, as its parts in PEM.
    pub(super) fn read(authorities: &str, chain: &str, key: &str) -> Result<Self, Flaw> {
        let cas = conversion::certificates(authorities);
        if cas.is_empty() {
            return Err(Flaw::Unreadable(AUTHORITY));
        }
        if cas.len() > MOST {
            return Err(Flaw::Many);
        }
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(chain.as_bytes()).collect();
        let certificates = certificates
            .ok()
            .filter(|certificates| !certificates.is_empty())
            .ok_or(Flaw::Unreadable(CERTIFICATE))?;
        let private = PrivateKeyDer::from_pem_slice(key.as_bytes());
        let private = private.map_err(|_| Flaw::Unreadable(KEY))?;
        let certificate = CertifiedKey::from_der(certificates, private, &ring::default_provider());
        let certificate = certificate.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => Flaw::OtherKey,
            rustls::Error::InvalidCertificate(_) => Flaw::Unreadable(CERTIFICATE),
            _ => Flaw::Unreadable(KEY),
        })?;
        Ok(Self {
            authorities: cas.into_iter().map(str::to_owned).collect(),
            chain: chain.to_owned(),
            key: key.to_owned(),
            certificate: Arc::new(certificate),
        })
    }

    /// Its parts in PEM, as [`Self::read`] takes them, by their names.
    pub(super) fn parts(&self) -> [(&'static str, String); 3] {
        [
            (AUTHORITY, self.authorities.join("\n") + "\n"),
            (CERTIFICATE, self.chain.clone()),
            (KEY, self.key.clone()),
        ]
    }

    /// The CAs, in PEM.
    pub(super) fn authorities(&self) -> impl Iterator<Item = &str> {
        self.authorities.iter().map(String::as_str)
    }

    /// Whether who trusts the CAs takes it at that time for each of these names.
    pub(super) fn check(&self, names: &[String], at: SystemTime) -> Result<(), Flaw> {
        let unusable = |error: &dyn fmt::Display| Flaw::Unusable(error.to_string());
        let mut roots = RootCertStore::empty();
        for authority in &self.authorities {
            let der = CertificateDer::from_pem_slice(authority.as_bytes());
            let der = der.map_err(|_| Flaw::Unreadable(AUTHORITY))?;
            roots.add(der).map_err(|_| Flaw::Unreadable(AUTHORITY))?;
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(|error| unusable(&error))?;
        let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = UnixTime::since_unix_epoch(at);
        let Some((leaf, rest)) = self.certificate.cert.split_first() else {
            return Err(Flaw::Unreadable(CERTIFICATE));
        };
        for name in names {
            let server = ServerName::try_from(name.as_str());
            let server = server.map_err(|error| unusable(&error))?;
            let answer = verifier.verify_server_cert(leaf, rest, &server, &[], at);
            answer.map_err(|error| match error {
                rustls::Error::InvalidCertificate(error) => flaw(&error, name),
                error => unusable(&error),
            })?;
        }
        Ok(())
    }
}

fn flaw(error: &CertificateError, name: &str) -> Flaw {
    use CertificateError as Wrong;
    match error {
        Wrong::Expired | Wrong::ExpiredContext { .. } => Flaw::Expired,
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => Flaw::Early,
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
            Flaw::OtherName(name.to_owned())
        }
        Wrong::UnknownIssuer | Wrong::BadSignature => Flaw::OtherAuthority,
        Wrong::BadEncoding => Flaw::Unreadable(CERTIFICATE),
        error => Flaw::Unusable(error.to_string()),
    }
}

fn valid(mut params: CertificateParams, lifetime: Duration, now: SystemTime) -> CertificateParams {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(SKEW);
    params.not_after = epoch + now + lifetime;
    params.distinguished_name.push(DnType::CommonName, NAME);
    params
}

/// The certificate that new connections are shown; none before there is one.
#[derive(Debug, Default)]
pub(super) struct Served(RwLock<Option<Arc<CertifiedKey>>>);

impl Served {
    /// Connections that are open keep theirs.
    pub(super) fn change(&self, identity: &Identity) {
        let certificate = Some(identity.certificate.clone());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certificate;
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
