//! Whose certificates are believed: Amazon's own roots, compiled in, or what `AWS_CA_BUNDLE` names instead.
//!
//! A function speaks to DynamoDB and to nobody else, and loading the hundred and more authorities of the system is most
//! of what a cold start would do. `AWS_CA_BUNDLE` is the SDKs' variable for those who need another authority: behind a
//! proxy that opens TLS, or with an emulator. It replaces the roots, it does not add to them.
//!
//! Source of the roots: "Amazon Trust Services Repository", the five that AWS asks clients to trust.

use std::fmt;
use std::path::PathBuf;

use aws_smithy_http_client::tls::{TlsContext, TrustStore};

/// The variable that names a file of other authorities, as PEM.
pub const BUNDLE_VARIABLE: &str = "AWS_CA_BUNDLE";

const AMAZON_ROOTS: &str = include_str!("amazon_roots.pem");

/// The file of authorities cannot be used.
#[derive(Debug)]
pub struct BadBundle {
    path: PathBuf,
    reason: String,
}

impl fmt::Display for BadBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BUNDLE_VARIABLE} names {}, which {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for BadBundle {}

/// What TLS believes in this process.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be read, or that holds no certificate.
pub(super) fn context() -> Result<TlsContext, BadBundle> {
    let bundle = std::env::var_os(BUNDLE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let pem = match bundle {
        None => AMAZON_ROOTS.as_bytes().to_vec(),
        Some(path) => read(path)?,
    };
    let store = TrustStore::empty().with_pem_certificate(pem);
    TlsContext::builder()
        .with_trust_store(store)
        .build()
        .map_err(|error| BadBundle { path: PathBuf::new(), reason: error.to_string() })
}

fn read(path: PathBuf) -> Result<Vec<u8>, BadBundle> {
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) => return Err(BadBundle { path, reason: format!("cannot be read: {error}") }),
    };
    if memchr::memmem::find(&text, b"-----BEGIN CERTIFICATE-----").is_none() {
        return Err(BadBundle { path, reason: "holds no certificate in PEM".to_owned() });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use x509_parser::pem::Pem;

    use super::*;

    #[test]
    fn the_compiled_in_roots_are_amazons_five_and_hold_for_another_year() {
        let in_a_year = SystemTime::now() + Duration::from_hours(365 * 24);
        let in_a_year = i64::try_from(in_a_year.duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
        let pems: Vec<Pem> = Pem::iter_from_buffer(AMAZON_ROOTS.as_bytes()).collect::<Result<_, _>>().unwrap();
        assert_eq!(pems.len(), 5);
        for pem in &pems {
            let certificate = pem.parse_x509().unwrap();
            let subject = certificate.subject().to_string();
            assert!(subject.contains("Amazon") || subject.contains("Starfield Services"), "{subject}");
            assert_eq!(certificate.subject(), certificate.issuer(), "{subject} is a root");
            assert!(certificate.validity().not_after.timestamp() > in_a_year, "{subject} expires within a year");
        }
    }

    #[test]
    fn a_bundle_that_cannot_be_used_is_named() {
        let error = read(PathBuf::from("/nonexistent/bundle.pem")).unwrap_err().to_string();
        assert!(error.starts_with("AWS_CA_BUNDLE names /nonexistent/bundle.pem, which cannot be read"), "{error}");
        let error = read(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).unwrap_err().to_string();
        assert!(error.ends_with("holds no certificate in PEM"), "{error}");
    }
}
