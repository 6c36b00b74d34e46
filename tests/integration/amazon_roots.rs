//! The certificate authorities that are compiled in (shared/aws/src/tls.rs).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use yasna::{ASN1Result, BERReaderSeq};

/// What the test looks at in a certificate (RFC 5280, section 4.1).
struct Certificate {
    issuer: Vec<u8>,
    subject: Vec<u8>,
    /// In seconds since 1970.
    not_after: i64,
}

impl Certificate {
    fn read(der: &[u8]) -> Self {
        let certificate = yasna::parse_der(der, |reader| {
            reader.read_sequence(|reader| {
                let certificate = reader.next().read_sequence(Self::read_signed_part)?;
                let _signature_algorithm = reader.next().read_der()?;
                let _signature = reader.next().read_der()?;
                Ok(certificate)
            })
        });
        certificate.unwrap()
    }

    fn read_signed_part(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<Self> {
        let _version = reader.next().read_der()?;
        let _serial_number = reader.next().read_der()?;
        let _signature_algorithm = reader.next().read_der()?;
        let issuer = reader.next().read_der()?;
        let not_after = reader.next().read_sequence(|reader| {
            let _not_before = reader.next().read_utctime()?;
            reader.next().read_utctime()
        })?;
        let subject = reader.next().read_der()?;
        let _public_key = reader.next().read_der()?;
        let _extensions = reader.next().read_der()?;
        Ok(Self {
            issuer,
            subject,
            not_after: not_after.datetime().unix_timestamp(),
        })
    }
}

#[test]
fn compiled_in_roots_are_amazons_five_and_valid_for_a_year() {
    let in_a_year = SystemTime::now() + Duration::from_hours(365 * 24);
    let in_a_year = i64::try_from(in_a_year.duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    let pem = include_bytes!("../../shared/aws/src/amazon_roots.pem");
    let certificates = CertificateDer::pem_slice_iter(pem).map(Result::unwrap);
    let certificates: Vec<_> = certificates.map(|der| Certificate::read(&der)).collect();
    assert_eq!(certificates.len(), 5);
    for certificate in &certificates {
        let subject = String::from_utf8_lossy(&certificate.subject);
        assert!(
            subject.contains("Amazon") || subject.contains("Starfield Services"),
            "{subject}"
        );
        assert_eq!(
            certificate.subject, certificate.issuer,
            "{subject} is a root"
        );
        assert!(
            certificate.not_after > in_a_year,
            "{subject} expires within a year"
        );
    }
}
