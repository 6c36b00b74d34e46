//! Which bodies are rejected before they are parsed.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn request(headers: &[(&str, &str)], body: impl Into<Body>) -> Request {
    let mut request = Request::new(body.into());
    for (name, value) in headers {
        request.headers_mut().append(
            lambda_http::http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
            value.parse().unwrap(),
        );
    }
    request
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const JSON: (&str, &str) = ("content-type", "application/json");
const GZIP: (&str, &str) = ("content-encoding", "gzip");

#[test]
fn media_type_of_json_is_read_with_any_charset_parameter() {
    for media_type in [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json ;charset=\"UTF-8\"",
    ] {
        assert_eq!(
            decode_body(&request(&[("content-type", media_type)], "{}")).unwrap(),
            "{}"
        );
    }
}

#[test]
fn other_media_type_is_rejected() {
    for media_type in [
        "",
        "text/plain",
        "application/problem+json",
        "application/jsonp",
        "text/json",
    ] {
        let error = decode_body(&request(&[("content-type", media_type)], "{}")).unwrap_err();
        assert!(
            matches!(error, Problem::UnsupportedMediaType { is_repeated: false }),
            "{media_type}"
        );
    }
}

#[test]
fn content_type_that_was_sent_twice_is_told_so() {
    let twice = [
        &[("content-type", "application/json,application/json")][..],
        &[("content-type", "application/json, text/plain")],
        &[("content-type", "text/plain"), JSON],
    ];
    for headers in twice {
        let error = decode_body(&request(headers, "{}")).unwrap_err();
        assert!(matches!(
            error,
            Problem::UnsupportedMediaType { is_repeated: true }
        ));
    }
    let accepted = (
        "content-type",
        "application/json; charset=utf-8, application/json",
    );
    assert_eq!(decode_body(&request(&[accepted], "{}")).unwrap(), "{}");
}

#[test]
fn gzip_is_decompressed_and_identity_is_read() {
    assert_eq!(
        decode_body(&request(&[JSON, GZIP], gzip(b"{}"))).unwrap(),
        "{}"
    );
    assert_eq!(
        decode_body(&request(&[JSON, ("content-encoding", "identity")], "{}")).unwrap(),
        "{}"
    );
}

#[test]
fn other_encoding_is_rejected() {
    for (encoding, repeated) in [("br", false), ("deflate", false), ("gzip, gzip", true)] {
        let headers = [JSON, ("content-encoding", encoding)];
        match decode_body(&request(&headers, "{}")) {
            Err(Problem::UnsupportedContentEncoding { is_repeated }) => {
                assert_eq!(is_repeated, repeated, "{encoding}");
            }
            other => panic!("{encoding}: {other:?}"),
        }
    }
}

#[test]
fn body_that_is_not_gzip_is_told_from_one_that_is_cut_off_or_damaged() {
    let fault = |body: Vec<u8>| match decode_body(&request(&[JSON, GZIP], body)) {
        Err(Problem::MalformedGzip(fault)) => fault,
        other => panic!("{other:?}"),
    };
    for other in [b"{}".to_vec(), Vec::new(), b"\x1f".to_vec()] {
        assert_eq!(fault(other), GzipFault::NotGzip);
    }
    let whole = gzip(b"{\"a\":1}");
    for end in 2..whole.len() {
        assert_eq!(fault(whole[..end].to_vec()), GzipFault::CutOff, "{end}");
    }
    let cut_in_the_second_member = [&whole, &whole[..whole.len() - 4]].concat();
    assert_eq!(fault(cut_in_the_second_member), GzipFault::CutOff);
    let mut wrong_checksum = whole;
    let checksum = wrong_checksum.len() - 8;
    wrong_checksum[checksum] ^= 1;
    assert_eq!(fault(wrong_checksum), GzipFault::Damaged);
}

#[test]
fn gzip_without_content_encoding_and_gzip_inside_gzip_are_named() {
    let encoding = |headers: &[(&str, &str)], body| match decode_body(&request(headers, body)) {
        Err(Problem::WrongEncoding(encoding)) => encoding,
        other => panic!("{other:?}"),
    };
    let compressed = gzip(b"{}");
    assert_eq!(encoding(&[JSON], compressed.clone()), BodyEncoding::Gzip);
    assert_eq!(
        encoding(&[JSON, GZIP], gzip(&compressed)),
        BodyEncoding::GzipInsideGzip
    );
}

#[test]
fn gzip_body_of_16_members_is_read_and_one_of_17_is_malformed() {
    let members = |count: usize| [gzip(b"{}"), gzip(b"").repeat(count - 1)].concat();
    assert_eq!(
        decode_body(&request(&[JSON, GZIP], members(MAX_GZIP_MEMBERS))).unwrap(),
        "{}"
    );
    let error = decode_body(&request(&[JSON, GZIP], members(MAX_GZIP_MEMBERS + 1))).unwrap_err();
    assert!(matches!(error, Problem::TooManyGzipMembers), "{error:?}");
    let trailing = [gzip(b"{}"), b"{}".to_vec()].concat();
    assert!(matches!(
        decode_body(&request(&[JSON, GZIP], trailing)),
        Err(Problem::MalformedGzip(GzipFault::Followed))
    ));
}

#[test]
fn gzip_body_beyond_4_mib_is_too_large_whatever_follows() {
    let half = gzip(&vec![b' '; MAX_BODY_BYTES / 2]);
    assert_eq!(
        decode_body(&request(&[JSON, GZIP], half.repeat(2)))
            .unwrap()
            .len(),
        MAX_BODY_BYTES
    );
    for after in [
        gzip(b" "),
        gzip(b" ").repeat(MAX_GZIP_MEMBERS),
        gzip(b" ")[..12].to_vec(),
    ] {
        let sent = [half.repeat(2), after].concat();
        let error = decode_body(&request(&[JSON, GZIP], sent)).unwrap_err();
        assert!(
            matches!(error, Problem::PayloadTooLarge { sent: None }),
            "{error:?}"
        );
    }
}

#[test]
fn body_over_4_mib_is_rejected_compressed_or_not() {
    let full = " ".repeat(MAX_BODY_BYTES);
    assert_eq!(
        decode_body(&request(&[JSON], full.as_str())).unwrap().len(),
        MAX_BODY_BYTES
    );
    assert_eq!(
        decode_body(&request(&[JSON, GZIP], gzip(full.as_bytes())))
            .unwrap()
            .len(),
        MAX_BODY_BYTES
    );
    let over = format!("{full} ");
    assert!(matches!(
        decode_body(&request(&[JSON], over.as_str())),
        Err(Problem::PayloadTooLarge { sent: Some(sent) }) if sent == MAX_BODY_BYTES + 1
    ));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(full.as_bytes()).unwrap();
    let larger_than_its_text = encoder.finish().unwrap();
    assert!(larger_than_its_text.len() > MAX_BODY_BYTES);
    assert_eq!(
        decode_body(&request(&[JSON, GZIP], larger_than_its_text))
            .unwrap()
            .len(),
        MAX_BODY_BYTES
    );
    let bomb = gzip(&vec![b' '; 200 * 1024 * 1024]);
    assert!(bomb.len() < MAX_BODY_BYTES);
    assert!(matches!(
        decode_body(&request(&[JSON, GZIP], bomb)),
        Err(Problem::PayloadTooLarge { sent: None })
    ));
}

#[test]
fn invalid_utf_8_is_reported_with_line_and_column() {
    let error = decode_body(&request(&[JSON], b"{\n \"a\xff\"}".to_vec())).unwrap_err();
    assert!(
        matches!(
            error,
            Problem::MalformedJson(JsonSyntaxError {
                line: 2,
                column: 4,
                ..
            })
        ),
        "{error:?}"
    );
    let error = decode_body(&request(&[JSON], b"\xff\xfe{\0}\0".to_vec())).unwrap_err();
    assert!(matches!(error, Problem::WrongEncoding(BodyEncoding::Utf16)));
}
