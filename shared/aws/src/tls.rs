//! TLS, with Amazon's certificate authorities, which are compiled in, or with the authorities in
//! the file that `AWS_CA_BUNDLE` names.
//!
//! A function connects only to AWS, and loading the more than hundred authorities of the system
//! would be most of a cold start. `AWS_CA_BUNDLE` is the SDKs' variable for another authority:
//! behind a proxy that terminates TLS, or with an emulator. The file replaces the compiled-in
//! authorities.
//!
//! Source of the roots: "Amazon Trust Services Repository", the five that AWS asks clients to
//! trust.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CipherSuite, ClientConfig, RootCertStore};

/// The variable that names a file of other authorities, as PEM.
pub(super) const CA_BUNDLE_VARIABLE: &str = "AWS_CA_BUNDLE";

const AMAZON_ROOTS: &str = include_str!("amazon_roots.pem");

/// The file of certificate authorities cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{CA_BUNDLE_VARIABLE} names {path}, which {reason}", path = path.display())]
pub struct CaBundleError {
    path: PathBuf,
    reason: String,
}

/// The TLS configuration, with the authorities of the file `ca_bundle` if there is one. It uses
/// `ring`: rustls's default provider gathers entropy for a hundred times the instructions of a whole
/// cold start.
///
/// # Errors
/// When the file cannot be read, or holds no certificate.
pub(super) fn client_config(ca_bundle: Option<&str>) -> Result<ClientConfig, CaBundleError> {
    // All clients share one configuration, because parsing the roots costs a million instructions.
    static AMAZON: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(path) = ca_bundle {
        return from_file(PathBuf::from(path));
    }
    if let Some(config) = AMAZON.get() {
        return Ok(config.clone());
    }
    let config = from_pem(Path::new("the roots compiled in"), AMAZON_ROOTS.as_bytes())?;
    Ok(AMAZON.get_or_init(|| config).clone())
}

fn from_file(path: PathBuf) -> Result<ClientConfig, CaBundleError> {
    match std::fs::read(&path) {
        Ok(pem) => from_pem(&path, &pem),
        Err(error) => Err(CaBundleError {
            path,
            reason: format!("cannot be read: {error}"),
        }),
    }
}

fn from_pem(path: &Path, pem: &[u8]) -> Result<ClientConfig, CaBundleError> {
    let bundle_error = |reason: String| CaBundleError {
        path: path.to_owned(),
        reason,
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates =
        certificates.map_err(|error| bundle_error(format!("holds ill-formed PEM: {error}")))?;
    let mut roots = RootCertStore::empty();
    let (added, ignored) = roots.add_parsable_certificates(certificates);
    if ignored > 0 {
        tracing::warn!(
            ignored,
            "{CA_BUNDLE_VARIABLE} holds certificates that cannot be read"
        );
    }
    if added == 0 {
        return Err(bundle_error("holds no certificate in PEM".to_owned()));
    }
    let mut provider = ring::default_provider();
    // Lambda's processors have instructions for SHA-256, but none for the SHA-384 of ring's first
    // suite.
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    let versions = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions();
    let versions = versions.map_err(|error| bundle_error(error.to_string()))?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_bundle_is_named_in_the_error() {
        let error = from_file(PathBuf::from("/nonexistent/bundle.pem"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("AWS_CA_BUNDLE names /nonexistent/bundle.pem, which cannot be read"),
            "{error}"
        );
        let error = from_file(PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/Cargo.toml"
        )))
        .unwrap_err()
        .to_string();
        assert!(error.ends_with("holds no certificate in PEM"), "{error}");
    }
}
