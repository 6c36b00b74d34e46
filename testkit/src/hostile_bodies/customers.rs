//! Requests with one customer, and bodies that are not JSON. Must not know what they may cost.

use model::limits::MAX_BODY_BYTES;

use super::body::{HostileBody, ROOM, accepted, elements, invalid, malformed, members, short_name};
use crate::request_builder::RequestBuilder;

const ESCAPED_NAME: &str = "\"\\n\":0";

pub(super) const BODIES: &[HostileBody] = &[
    invalid("100 invalid numbers under a name of 4 MiB", || {
        profile(&format!("\"{}\":[{}]", "x".repeat(ROOM), vec!["1e999"; 100].join(",")))
    }),
    invalid("20 invalid numbers under a name of 4 MiB, all escapes", || {
        profile(&format!("\"{}\":[{}]", "\\u0001".repeat(ROOM / 6), vec!["1e999"; 20].join(",")))
    }),
    invalid("name of 4 MiB that begins like a documented one", || {
        profile(&format!("\"phoneNumbe{}\":\"1\"", "r".repeat(ROOM)))
    }),
    invalid("100 names of 40 KB", || {
        profile(&elements(ROOM, |index| format!("\"{index}{}\":1e999", "x".repeat(40_000))))
    }),
    invalid("many unknown fields", || profile(&members(ROOM, ""))),
    invalid("many unknown fields, an escape in each name", || profile(&members(ROOM, "\\n"))),
    invalid("one unknown field many times", || profile(&elements(ROOM, |_| ESCAPED_NAME.to_owned()))),
    invalid("one unknown field many times, packed", || {
        let members = elements(ROOM, |_| ESCAPED_NAME.to_owned());
        packed(&format!("{{\"customerId\":\"c\",\"customerData\":{{{members}}}}}"))
    }),
    invalid("one documented field many times", || profile(&elements(ROOM, |_| "\"zip\":\"\"".to_owned()))),
    invalid("one reserved field many times", || profile(&elements(ROOM, |_| "\"pk\":0".to_owned()))),
    invalid("many names of half a surrogate pair", || profile(&elements(ROOM, |_| "\"\\ud800\":0".to_owned()))),
    accepted("many members beside customerData", || {
        plain(&format!("{{\"customerId\":\"c\",\"customerData\":{{}},{}}}", members(ROOM, "\\n")))
    }),
    invalid("many names in a value, each twice", || {
        let members = elements(ROOM, |index| format!("\"\\n{}\":0", short_name(index / 2)));
        profile(&format!("\"x\":{{{members}}}"))
    }),
    invalid("many objects that have a name twice", || {
        profile(&format!("\"x\":[{}]", elements(ROOM, |_| "{\"a\":0,\"a\":0}".to_owned())))
    }),
    invalid("number of 4 MiB", || profile(&format!("\"x\":1{}.5", "0".repeat(ROOM)))),
    invalid("exponent of 4 MiB", || profile(&format!("\"x\":1e{}", "9".repeat(ROOM)))),
    invalid("dense numbers with an exponent", || profile(&array(ROOM, "1e5"))),
    invalid("dense numbers out of range", || profile(&array(ROOM, "1e999"))),
    invalid("dense numbers with too many digits", || profile(&array(ROOM, &"1".repeat(39)))),
    invalid("4 MiB of brackets", || profile(&format!("\"x\":{}{}", "[".repeat(ROOM / 2), "]".repeat(ROOM / 2)))),
    malformed("4 MiB of brackets that never close", || plain(&"[".repeat(MAX_BODY_BYTES))),
    invalid("31 levels again and again", || profile(&array(ROOM, &format!("{}{}", "[".repeat(30), "]".repeat(30))))),
    invalid("32 levels again and again below long names", || {
        let before = (0..30).map(|level| format!("{{\"{}{level}\":", "x".repeat(60_000))).collect::<Vec<_>>().concat();
        let dense = elements(ROOM - before.len(), |_| "[]".to_owned());
        profile(&format!("\"x\":{before}[{dense}]{}", "}".repeat(30)))
    }),
    invalid("value of 4 MiB, all escapes", || profile(&format!("\"zip\":\"{}\"", "\\n".repeat(ROOM / 2)))),
    invalid("value of 4 MiB that ends in half a surrogate pair", || {
        profile(&format!("\"zip\":\"{}\\ud800\"", "x".repeat(ROOM)))
    }),
    invalid("customerId of 4 MiB of white space", || {
        plain(&format!("{{\"customerId\":\"{}\"}}", "\\t".repeat(ROOM / 2)))
    }),
    malformed("4 MiB of white space", || plain(&" ".repeat(MAX_BODY_BYTES))),
    invalid("4 MiB of white space around an object", || {
        plain(&format!("{}{{}}{}", "\n".repeat(ROOM / 2), "\n".repeat(ROOM / 2)))
    }),
    malformed("string of 4 MiB that ends in an escape that is none", || {
        plain(&format!("[\"{}\\x\"]", "\\n".repeat(ROOM / 2)))
    }),
];

fn plain(body: &str) -> RequestBuilder {
    super::body::plain("/api/customers", body)
}

fn packed(body: &str) -> RequestBuilder {
    super::body::packed("/api/customers", body)
}

fn profile(members: &str) -> RequestBuilder {
    plain(&format!("{{\"customerId\":\"c\",\"customerData\":{{{members}}}}}"))
}

/// A member that is an array of `value`s.
fn array(bytes: usize, value: &str) -> String {
    format!("\"x\":[{}]", elements(bytes, |_| value.to_owned()))
}
