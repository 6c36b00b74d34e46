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
            matches!(error, Problem::UnsupportedMediaType(_)),
            "{media_type}"
        );
    }
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
    for encoding in ["br", "deflate", "gzip, gzip", "zstd"] {
        let error =
            decode_body(&request(&[JSON, ("content-encoding", encoding)], "{}")).unwrap_err();
        assert!(
            matches!(error, Problem::UnsupportedMediaType(_)),
            "{encoding}"
        );
    }
}

#[test]
fn body_that_is_not_gzip_or_is_cut_is_malformed() {
    assert!(matches!(
        decode_body(&request(&[JSON, GZIP], "{}")),
        Err(Problem::MalformedGzip)
    ));
    let cut = gzip(b"{\"a\":1}");
    assert!(matches!(
        decode_body(&request(&[JSON, GZIP], cut[..cut.len() - 4].to_vec())),
        Err(Problem::MalformedGzip)
    ));
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
        Err(Problem::MalformedGzip)
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
    let reason = "a byte order mark of UTF-16, not UTF-8".to_owned();
    assert!(
        matches!(error, Problem::MalformedJson(error) if error == JsonSyntaxError { reason, line: 1, column: 1 })
    );
}
