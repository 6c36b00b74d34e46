//! Requests that are rejected or decoded before JSON is parsed. Must not know what they may cost.

use flate2::Compression;
use model::limits::MAX_BODY_BYTES;

use super::body::{HostileBody, accepted, malformed};
use crate::request_builder::RequestBuilder;

const PATH: &str = "/api/customers";

pub(super) const BODIES: &[HostileBody] = &[
    malformed("invalid UTF-8 at the end of 4 MiB", || {
        let mut bytes = vec![b'\n'; MAX_BODY_BYTES];
        bytes[MAX_BODY_BYTES - 1] = 0xff;
        RequestBuilder::new("POST", PATH).bytes(&bytes)
    }),
    malformed("209,000 empty gzip members", || zipped(&gzip(b"").repeat(209_000))),
    malformed("16 gzip members", || zipped(&gzip(&vec![b' '; MAX_BODY_BYTES / 16]).repeat(16))),
    too_large("gzip of 16 MiB", || zipped(&gzip(&vec![b' '; 4 * MAX_BODY_BYTES]))),
    malformed("4 MiB that are not gzip", || zipped(&vec![b'x'; MAX_BODY_BYTES])),
    too_large("one byte over 4 MiB", || RequestBuilder::new("POST", PATH).body(&" ".repeat(MAX_BODY_BYTES + 1))),
    accepted("a thousand preferences", || {
        RequestBuilder::customer("{\"customerId\":\"c\",\"customerData\":{}}")
            .header("prefer", &"wait=1,".repeat(1_400))
    }),
];

const fn too_large(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody { name, call, status: 413, code: Some("payload-too-large") }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    super::body::gzip(bytes, Compression::fast())
}

fn zipped(bytes: &[u8]) -> RequestBuilder {
    RequestBuilder::new("POST", PATH).header("content-encoding", "gzip").bytes(bytes)
}
