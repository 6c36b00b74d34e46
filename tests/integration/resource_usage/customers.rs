//! Requests with one customer, and bodies that are not JSON, or not read that far. This module must
//! not know what they may cost.

use harness::RequestBuilder;
use model::limits::MAX_BODY_BYTES;

use super::body::{
    self, HostileBody, ROOM, accepted, copies, elements, invalid, malformed, members, short_name,
};
use crate::support::gzip::gzip;

pub(super) const BODIES: &[HostileBody] = &[
    invalid("100 invalid numbers under a name of 4 MiB", || {
        profile(&format!(
            "\"{}\":[{}]",
            "x".repeat(ROOM),
            vec!["1e999"; 100].join(",")
        ))
    }),
    invalid("name of 4 MiB that begins like a documented one", || {
        profile(&format!("\"phoneNumbe{}\":\"1\"", "r".repeat(ROOM)))
    }),
    invalid("many unknown fields, an escape in each name", || {
        profile(&members(ROOM, "\\n"))
    }),
    invalid("one unknown field many times, packed", || {
        let members = copies(ROOM, "\"\\n\":0");
        packed(&format!(
            "{{\"customerId\":\"c\",\"customerData\":{{{members}}}}}"
        ))
    }),
    accepted("many members beside customerData", || {
        plain(&format!(
            "{{\"customerId\":\"c\",\"customerData\":{{}},{}}}",
            members(ROOM, "\\n")
        ))
    }),
    invalid("many names in a value, each twice", || {
        let members = elements(ROOM, |index| format!("\"\\n{}\":0", short_name(index / 2)));
        profile(&format!("\"x\":{{{members}}}"))
    }),
    invalid("number of 4 MiB", || {
        profile(&format!("\"x\":1{}.5", "0".repeat(ROOM)))
    }),
    invalid("exponent of 4 MiB", || {
        profile(&format!("\"x\":1e{}", "9".repeat(ROOM)))
    }),
    invalid("dense numbers out of range", || {
        profile(&array(ROOM, "1e999"))
    }),
    malformed("4 MiB of brackets that never close", || {
        plain(&"[".repeat(MAX_BODY_BYTES))
    }),
    invalid("31 levels again and again", || {
        profile(&array(
            ROOM,
            &format!("{}{}", "[".repeat(30), "]".repeat(30)),
        ))
    }),
    invalid("32 levels again and again below long names", || {
        let before = (0..30)
            .map(|level| format!("{{\"{}{level}\":", "x".repeat(60_000)))
            .collect::<Vec<_>>()
            .concat();
        let dense = copies(ROOM - before.len(), "[]");
        profile(&format!("\"x\":{before}[{dense}]{}", "}".repeat(30)))
    }),
    malformed("209,000 empty gzip members", || {
        zipped(&gzip(b"").repeat(209_000))
    }),
    too_large("gzip of 16 MiB", || {
        zipped(&gzip(&vec![b' '; 4 * MAX_BODY_BYTES]))
    }),
    accepted("a thousand preferences", || {
        plain(EMPTY).header("prefer", &"wait=1,".repeat(1_400))
    }),
    invalid("value of 4 MiB, all escapes", || {
        profile(&format!("\"zip\":\"{}\"", "\\n".repeat(ROOM / 2)))
    }),
];

/// A customer without a profile.
const EMPTY: &str = "{\"customerId\":\"c\",\"customerData\":{}}";

const fn too_large(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody {
        name,
        call,
        status: 413,
        code: Some("payload-too-large"),
        is_deferred: false,
    }
}

fn zipped(bytes: &[u8]) -> RequestBuilder {
    plain("").header("content-encoding", "gzip").bytes(bytes)
}

fn plain(body: &str) -> RequestBuilder {
    body::plain("/api/customers", body)
}

fn packed(body: &str) -> RequestBuilder {
    body::packed("/api/customers", body)
}

fn profile(members: &str) -> RequestBuilder {
    plain(&format!(
        "{{\"customerId\":\"c\",\"customerData\":{{{members}}}}}"
    ))
}

/// A member that is an array of `value`s.
fn array(bytes: usize, value: &str) -> String {
    format!("\"x\":[{}]", copies(bytes, value))
}
