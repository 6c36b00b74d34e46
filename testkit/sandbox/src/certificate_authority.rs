//! A certificate authority for one run. Must not know who trusts it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Authorities in the bundle of a function: as many as it has embedded, so that the count includes parsing them.
const AUTHORITIES: usize = 5;

/// Where Linux has the system's authorities: on Debian, on Amazon Linux.
const SYSTEM_BUNDLES: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// An authority, and a server that it vouches for.
pub struct Authority {
    /// Accepts connections to `localhost`.
    pub acceptor: TlsAcceptor,
    few: String,
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn new() -> Result<Self> {
        let (key, authority) = (KeyPair::generate()?, authority(0));
        let mut few = authority.self_signed(&key)?.pem();
        for index in 1..AUTHORITIES {
            few.push_str(&self::authority(index).self_signed(&KeyPair::generate()?)?.pem());
        }
        let (server_key, server) = (KeyPair::generate()?, CertificateParams::new(["localhost".to_owned()])?);
        let certificate = server.signed_by(&server_key, &Issuer::new(authority, key))?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        // DynamoDB speaks nothing newer.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), few })
    }

    /// Writes what a function is to trust: `few` authorities, and `many` as a system has them.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn write(&self, few: &Path, many: &Path) -> Result<()> {
        let system = SYSTEM_BUNDLES.iter().find_map(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        std::fs::write(few, &self.few).with_context(|| format!("{} cannot be written", few.display()))?;
        std::fs::write(many, system + &self.few).with_context(|| format!("{} cannot be written", many.display()))
    }
}

fn authority(index: usize) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("Benchmark Authority {index}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}
