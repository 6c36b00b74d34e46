//! The certificate authorities that are compiled in (shared/aws/src/tls.rs).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::pem::Pem;

#[test]
fn compiled_in_roots_are_amazons_five_and_valid_for_a_year() {
    let in_a_year = SystemTime::now() + Duration::from_hours(365 * 24);
    let in_a_year = i64::try_from(in_a_year.duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    let pem = include_bytes!("../../shared/aws/src/amazon_roots.pem");
    let pems: Vec<Pem> = Pem::iter_from_buffer(pem)
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(pems.len(), 5);
    for pem in &pems {
        let certificate = pem.parse_x509().unwrap();
        let subject = certificate.subject().to_string();
        assert!(
            subject.contains("Amazon") || subject.contains("Starfield Services"),
            "{subject}"
        );
        assert_eq!(
            certificate.subject(),
            certificate.issuer(),
            "{subject} is a root"
        );
        assert!(
            certificate.validity().not_after.timestamp() > in_a_year,
            "{subject} expires within a year"
        );
    }
}
