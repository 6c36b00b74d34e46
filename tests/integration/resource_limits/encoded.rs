//! Requests that are rejected or decoded before JSON is parsed. Must not know what they may cost.

use flate2::Compression;
use model::limits::MAX_BODY_BYTES;

use super::body::{self, HostileBody, accepted, malformed};
use testkit::RequestBuilder;

const PATH: &str = "/api/customers";

pub(super) const BODIES: &[HostileBody] = &[
    malformed("209,000 empty gzip members", || zipped(&gzip(b"").repeat(209_000))),
    too_large("gzip of 16 MiB", || zipped(&gzip(&vec![b' '; 4 * MAX_BODY_BYTES]))),
    accepted("a thousand preferences", || {
        RequestBuilder::customer("{\"customerId\":\"c\",\"customerData\":{}}")
            .header("prefer", &"wait=1,".repeat(1_400))
    }),
];

const fn too_large(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody { name, call, status: 413, code: Some("payload-too-large") }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    body::gzip(bytes, Compression::fast())
}

fn zipped(bytes: &[u8]) -> RequestBuilder {
    RequestBuilder::new("POST", PATH).header("content-encoding", "gzip").bytes(bytes)
}
