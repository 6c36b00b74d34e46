//! Requests with a batch of signals. This module must not know what they may cost.

use harness::RequestBuilder;
use model::limits::{MAX_BODY_BYTES, MAX_SIGNAL_BYTES, MAX_SIGNALS_PER_REQUEST};

use super::body::{
    self, HostileBody, ROOM, accepted, copies, deferred, elements, invalid, members,
};

/// As many signals of the largest size as a body has room for.
const LARGEST: usize = MAX_BODY_BYTES / MAX_SIGNAL_BYTES;

/// The text that fills each of these signals.
const LARGEST_ROOM: usize = MAX_SIGNAL_BYTES - 200;

/// What is filled into each of as many signals as a request may have.
const SIGNAL_ROOM: usize = MAX_BODY_BYTES / MAX_SIGNALS_PER_REQUEST - 100;

pub(super) const BODIES: &[HostileBody] = &[
    accepted("16 signals of dense digits, packed", || {
        packed(&signals(LARGEST, &array(LARGEST_ROOM, "1")))
    }),
    accepted("500 signals of dense digits", || {
        plain(&signals(MAX_SIGNALS_PER_REQUEST, &array(SIGNAL_ROOM, "1")))
    }),
    accepted("16 signals of dense empty objects", || {
        plain(&signals(LARGEST, &array(LARGEST_ROOM, "{}")))
    }),
    accepted("16 signals of 30 levels again and again", || {
        plain(&signals(
            LARGEST,
            &array(
                LARGEST_ROOM,
                &format!("{}{}", "[".repeat(29), "]".repeat(29)),
            ),
        ))
    }),
    accepted("16 signals of many unknown fields", || {
        plain(&signals(LARGEST, &members(LARGEST_ROOM, "\\n")))
    }),
    accepted("500 signals of many unknown fields, packed", || {
        packed(&signals(
            MAX_SIGNALS_PER_REQUEST,
            &members(SIGNAL_ROOM, "\\n"),
        ))
    }),
    accepted("500 signals with 5 warnings at long paths", || {
        plain(&signals(
            MAX_SIGNALS_PER_REQUEST,
            &elements(SIGNAL_ROOM, |index| format!("\"\\n{index:01200}\":0")),
        ))
    }),
    invalid("500 signals with 5 errors at long paths", || {
        let long = "\\u0001".repeat(30);
        plain(&signals(
            MAX_SIGNALS_PER_REQUEST,
            &elements(SIGNAL_ROOM, |index| format!("\"{long}{index}\":1e999")),
        ))
    }),
    invalid("16 signals with 40,000 errors", || {
        plain(&signals(LARGEST, &array(LARGEST_ROOM, "1e999")))
    }),
    invalid("16 rejected signals, all quotes", || {
        plain(&rejected_signals())
    }),
    invalid("signal of 4 MiB of many unknown fields", || {
        plain(&signals(1, &members(ROOM, "\\n")))
    }),
    too_many("two million signals", || {
        plain(&format!("{{\"signals\":[{}]}}", copies(ROOM, "0")))
    }),
    invalid("requestIdentifier of 4 MiB", || {
        plain(&beside_signals(&format!(
            "\"requestIdentifier\":\"{}\"",
            "\\n".repeat(ROOM / 2)
        )))
    }),
];

/// The bodies that grow the most on their way to DynamoDB, and so on their way back.
pub(super) const UNPROCESSED: &[HostileBody] = &[
    deferred("500 signals of dense digits, unprocessed", || {
        plain(&signals(MAX_SIGNALS_PER_REQUEST, &array(SIGNAL_ROOM, "1")))
    }),
    deferred("500 signals of many unknown fields, unprocessed", || {
        plain(&signals(MAX_SIGNALS_PER_REQUEST, &members(SIGNAL_ROOM, "")))
    }),
    invalid("16 rejected signals, all quotes, unprocessed", || {
        plain(&rejected_signals())
    }),
];

const fn too_many(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody {
        name,
        call,
        status: 413,
        code: Some("too-many-signals"),
        is_deferred: false,
    }
}

fn plain(body: &str) -> RequestBuilder {
    body::plain("/api/event-flows/signal", body)
}

fn packed(body: &str) -> RequestBuilder {
    body::packed("/api/event-flows/signal", body)
}

/// `count` events with these members beside their identity.
fn signals(count: usize, members: &str) -> String {
    let signal = format!("{{\"customerId\":\"c\",\"eventType\":\"t\",{members}}}");
    format!("{{\"signals\":[{}]}}", vec![signal; count].join(","))
}

/// The payload of each is kept as a string, in which quotes are escaped.
fn rejected_signals() -> String {
    signals(
        LARGEST,
        &format!("\"data\":[{}]", copies(LARGEST_ROOM, "\"\"")),
    )
}

fn beside_signals(members: &str) -> String {
    format!("{{\"signals\":[{{\"customerId\":\"c\",\"eventType\":\"t\"}}],{members}}}")
}

/// Data that is an array of `value`s.
fn array(bytes: usize, value: &str) -> String {
    format!("\"data\":{{\"x\":[{}]}}", copies(bytes, value))
}
