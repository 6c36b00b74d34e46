//! A certificate authority for one run.

use std::sync::Arc;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Authorities in the bundle of a function: as many as it has embedded, so that the count includes
/// parsing them.
const AUTHORITIES: usize = 5;

/// An authority, and a server that it vouches for.
pub(crate) struct Authority {
    /// Accepts connections to `localhost`.
    pub(crate) acceptor: TlsAcceptor,
    /// What a function is to trust.
    pub(crate) bundle: String,
}

impl Authority {
    /// Makes an authority with new keys.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn new() -> Result<Self> {
        let key = KeyPair::generate()?;
        let params = authority_params(0);
        let mut bundle = params.self_signed(&key)?.pem();
        for index in 1..AUTHORITIES {
            let other_key = KeyPair::generate()?;
            let other = authority_params(index).self_signed(&other_key)?;
            bundle.push_str(&other.pem());
        }
        let issuer = Issuer::new(params, key);
        let server_key = KeyPair::generate()?;
        let server = CertificateParams::new(["localhost".to_owned()])?;
        let certificate = server.signed_by(&server_key, &issuer)?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        // DynamoDB does not support HTTP/2.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            bundle,
        })
    }
}

fn authority_params(index: usize) -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, format!("Benchmark Authority {index}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}
