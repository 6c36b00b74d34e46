//! The line about a request in the terminal: what became of the request, and why. It is for the
//! author of a client. Must not know how requests reach the functions.

use axum::http::StatusCode;

use crate::exchange::Exchange;
use crate::exchange::api_key::without_keys;
use crate::exchange::parsed_response::ResponseFinding;

/// The line about a request, without the time. Its status may have a colour.
pub(crate) fn request_line(exchange: &Exchange, has_colours: bool) -> String {
    let method = exchange.sent.method.as_str();
    // A terminal would obey control characters. A client may have them in a path, as it may in the
    // names of its fields. The method has none.
    let path = without_control_characters(exchange.sent.uri.path());
    let parts = without_control_characters(&parts(exchange).join(", "));
    let status = exchange.response.status();
    let status = if has_colours {
        coloured(status)
    } else {
        status.as_u16().to_string()
    };
    let milliseconds = exchange.duration.as_millis();
    let line = format!("{method:<7} {path:<24} {status} {milliseconds:>5} ms  {parts}");
    without_keys(line.trim_end())
}

/// Replaces what a terminal obeys: control characters, and those that change the direction of text.
fn without_control_characters(text: &str) -> String {
    let is_obeyed = |c: char| {
        let is_direction = matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        );
        is_direction || c.is_control()
    };
    text.replace(is_obeyed, "\u{fffd}")
}

/// The status in the colour of its class: green, yellow or red.
fn coloured(status: StatusCode) -> String {
    let number = status.as_u16();
    let colour = if status.is_success() {
        32
    } else if status.is_client_error() {
        33
    } else if status.is_server_error() {
        31
    } else {
        return number.to_string();
    };
    format!("\x1b[{colour}m{number}\x1b[0m")
}

/// What became of the request, and why.
fn parts(exchange: &Exchange) -> Vec<String> {
    let parsed = &exchange.parsed;
    let mut parts = Vec::new();
    match (parsed.code.as_deref(), parsed.accepted) {
        // The errors of the response follow, and say more than this code.
        (Some("validation-failed"), _) => {}
        (Some(code), _) => parts.push(problem(exchange, code)),
        (None, Some(accepted)) => {
            parts.push(format!("{accepted} accepted"));
            parts.extend(count_of("rejected", parsed.rejected));
            parts.extend(count_of("deferred", parsed.deferred));
            if parsed.replayed == Some(true) {
                parts.push("replayed".to_owned());
            }
        }
        (None, None) => parts.extend(parsed.result.clone()),
    }
    parts.extend(first_finding(&parsed.field_errors));
    parts.extend(first_finding(&exchange.event_contract_breaks()));
    if let Some(warning) = first_finding(&parsed.warnings) {
        parts.push(format!("warning {warning}"));
    }
    if exchange.has_left {
        parts.push("the client closed its end of the connection before the response".to_owned());
    }
    match (parts.last_mut(), exchange.reason()) {
        (Some(last), Some(note)) => last.extend([" (", note, ")"]),
        (None, Some(note)) => parts.push(note.to_owned()),
        (_, None) => {}
    }
    parts
}

/// A count of signals, unless it is 0.
fn count_of(name: &str, count: Option<u64>) -> Option<String> {
    let count = count.filter(|count| *count > 0)?;
    Some(format!("{count} {name}"))
}

/// The code of a problem, with its detail if the detail says more than the code.
fn problem(exchange: &Exchange, code: &str) -> String {
    let status = exchange.response.status();
    let says_more = status.is_client_error() && status != StatusCode::UNAUTHORIZED;
    match &exchange.parsed.detail {
        Some(detail) if says_more => format!("{code}: {detail}"),
        _ => code.to_owned(),
    }
}

/// The code and the place of the first finding, and how many more there are.
fn first_finding(findings: &[ResponseFinding]) -> Option<String> {
    let ResponseFinding { code, pointer, .. } = findings.first()?;
    let place = if pointer.is_empty() {
        "(the body)"
    } else {
        pointer
    };
    let further = findings.len().saturating_sub(1);
    if further == 0 {
        return Some(format!("{code} {place}"));
    }
    Some(format!("{code} {place} (+{further})"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Bytes;
    use axum::http::{HeaderMap, Method, Response, Uri};

    use crate::exchange::Exchange;
    use crate::exchange::api_key::SentKey;
    use crate::exchange::given_response::GivenResponse;
    use crate::exchange::sent_request::{SentBody, SentRequest};

    fn line(status: u16, body: &'static str, note: Option<&str>) -> String {
        line_of(status, body, note, false)
    }

    fn line_of(status: u16, body: &'static str, note: Option<&str>, has_colours: bool) -> String {
        let uri = Uri::from_static("/api/customers?key=secret");
        let line = super::request_line(&exchange(uri, status, body, note), has_colours);
        line.strip_prefix("POST    /api/customers           ")
            .unwrap()
            .to_owned()
    }

    fn exchange(uri: Uri, status: u16, body: &'static str, note: Option<&str>) -> Exchange {
        let sent = SentRequest {
            method: Method::POST,
            uri,
            headers: HeaderMap::new(),
            body: SentBody::Whole(Bytes::new()),
        };
        let response = Response::builder()
            .status(status)
            .body(Bytes::from(body))
            .unwrap();
        let given = GivenResponse {
            response,
            reason: note.map(str::to_owned),
            batch: None,
        };
        let duration = Duration::from_micros(3_900);
        Exchange::new(sent, given, duration, SentKey::default())
    }

    #[test]
    fn request_line_says_what_became_of_the_request_and_why() {
        for (status, body, expected) in [
            (200, r#"{"response":"pong"}"#, "200     3 ms"),
            (
                200,
                r#"{"result":"created","warnings":[]}"#,
                "200     3 ms  created",
            ),
            (
                200,
                r#"{"accepted":500,"rejected":0}"#,
                "200     3 ms  500 accepted",
            ),
            (
                200,
                r#"{"accepted":2,"rejected":0,"deferred":1,"replayed":true}"#,
                "200     3 ms  2 accepted, 1 deferred, replayed",
            ),
            (
                200,
                r#"{"accepted":1,"rejected":1,"fieldErrors":[{"code":"blank","pointer":"/signals/1/eventType"}]}"#,
                "200     3 ms  1 accepted, 1 rejected, blank /signals/1/eventType",
            ),
            (
                200,
                r#"{"accepted":1,"warnings":[{"code":"unexpected-type","pointer":"/a\u001b"},{},{}]}"#,
                "200     3 ms  1 accepted, warning unexpected-type /a\u{fffd} (+2)",
            ),
            (
                400,
                r#"{"code":"validation-failed","detail":"d","fieldErrors":[{"code":"required","pointer":""},{}]}"#,
                "400     3 ms  required (the body) (+1)",
            ),
            (
                400,
                r#"{"code":"malformed-json","detail":"No."}"#,
                "400     3 ms  malformed-json: No.",
            ),
            (
                401,
                r#"{"code":"unauthorized","detail":"d"}"#,
                "401     3 ms  unauthorized",
            ),
            (404, r#"{"message":"Not Found"}"#, "404     3 ms"),
            (500, "no JSON", "500     3 ms"),
            (
                503,
                r#"{"code":"storage-unavailable","detail":"d"}"#,
                "503     3 ms  storage-unavailable",
            ),
        ] {
            assert_eq!(line(status, body, None), expected);
        }
    }

    #[test]
    fn note_follows_what_the_response_says_and_a_status_may_have_the_colour_of_its_class() {
        assert_eq!(
            line(401, r#"{"code":"unauthorized"}"#, Some("expired")),
            "401     3 ms  unauthorized (expired)"
        );
        assert_eq!(
            line(404, "{}", Some("no such path")),
            "404     3 ms  no such path"
        );
        for (status, colour) in [(200, 32), (429, 33), (503, 31)] {
            assert_eq!(
                line_of(status, "{}", None, true),
                format!("\x1b[{colour}m{status}\x1b[0m     3 ms")
            );
        }
    }

    #[test]
    fn characters_of_a_pointer_that_change_the_direction_of_text_are_replaced() {
        let body = r#"{"accepted":1,"warnings":[{"code":"c","pointer":"/a\u202eb\u2066\u200fc"}]}"#;
        let expected = "200     3 ms  1 accepted, warning c /a\u{fffd}b\u{fffd}\u{fffd}c";
        assert_eq!(line(200, body, None), expected);
    }

    #[test]
    fn control_characters_of_a_path_are_replaced() {
        let uri = Uri::try_from(&b"/a\xc2\x9b31m\xc3\xa4"[..]).unwrap();
        assert_eq!(
            super::request_line(&exchange(uri, 404, "{}", None), false),
            "POST    /a\u{fffd}31m\u{e4}                  404     3 ms"
        );
    }
}
