//! Single requests, each for one promise of docs/api.md.

use consistency::{Outcome, Update};
use model::api_key::{ApiKey, KEY_PREFIX};
use model::limits::{MAX_BODY_BYTES, MAX_IDENTIFIER_CHARS, MAX_SIGNAL_BYTES, MAX_SIGNALS_PER_REQUEST};
use serde_json::{Value, json};

use super::api::{CUSTOMERS, Call, Expected, PING, SIGNALS, now};
use super::load::subject_id;
use super::run::{Run, outcome};
use crate::check_result::Verdict;
use crate::time_args::rfc3339;

/// The customers whose profiles are updated.
const MERGED: u32 = 0;
const OVERWRITTEN: u32 = 2;

/// More than the 10 MB that API Gateway takes.
const TOO_LARGE_FOR_GATEWAY: usize = 11 * 1024 * 1024;

/// Keys that are not accepted everywhere.
pub(super) struct OtherKeys {
    pub(super) expired: ApiKey,
    /// Only for customers.
    pub(super) restricted: ApiKey,
}

/// The API key and what is wrong with one.
pub(super) async fn keys(run: &Run<'_>, keys: &OtherKeys) {
    let ping = || Call::new("GET", PING);
    let signals = Call::post(SIGNALS, r#"{"signals":[{"customerId":"c","eventType":"t"}]}"#);
    let restricted = Some(keys.restricted.expose_secret());
    let wrong = format!("{KEY_PREFIX}{}", "0".repeat(64));
    let answered = Expected::status(200).body("/response", json!("pong"));
    let missing = Expected::problem(401, "unauthorized").header("www-authenticate", "Bearer realm=\"intake\"");
    let invalid = missing.clone().header("www-authenticate", "invalid_token");
    let forbidden = Expected::problem(403, "forbidden");
    let not_json = Call::post(SIGNALS, "not JSON").key(None).header("content-type", "text/plain");
    let checks = [
        ("Ping with a valid key", ping(), &answered),
        ("401: no key", ping().key(None), &missing),
        ("401: wrong key", ping().key(Some(&wrong)), &invalid),
        ("401: expired key", ping().key(Some(keys.expired.expose_secret())), &invalid),
        ("403: key of the other endpoint", signals.key(restricted), &forbidden),
        ("Ping with a restricted key", ping().key(restricted), &answered),
        ("401 precedes other errors", not_json, &missing),
    ];
    for (name, call, expected) in checks {
        run.check("API keys", name, &call, expected).await;
    }
}

/// Updates of customers, which also read the clock of the functions.
pub(super) async fn customers(run: &Run<'_>) {
    let text = |text: &str| Some(text.to_owned());
    let updates = [
        (OVERWRITTEN, vec![("city", text("London"))]),
        (MERGED, vec![("email", text("a@example.com")), ("phoneNumber", text("+49 1"))]),
        (OVERWRITTEN, vec![("city", text("Paris"))]),
        (MERGED, vec![("phoneNumber", None), ("gender", text(""))]),
        (OVERWRITTEN, vec![("city", text("Rome"))]),
        (MERGED, vec![("firstName", text("Zoë 😀"))]),
    ];
    for ((customer, fields), method) in updates.into_iter().zip(["POST", "PATCH"].into_iter().cycle()) {
        let data: Value = fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let body = json!({"customerId": subject_id(customer), "customerData": data});
        let call = Call::post(CUSTOMERS, body.to_string()).method(method);
        let sent = now();
        let response = run.api.send(&call).await;
        let outcome = outcome(&response);
        let is_deferred =
            response.as_ref().is_ok_and(|response| response.body.get("result") == Some(&json!("deferred")));
        run.note_update(Update { customer, sent, outcome, is_deferred, fields });
        let expected = Expected::status(200).body("/customerId", json!(subject_id(customer)));
        run.add("Customers", format!("{method} of a customer"), expected.verdict(&response));
        let updated_at = response.ok().and_then(|response| rfc3339(response.body.get("updatedAt")?.as_str()?));
        if let (Some(at), Outcome::Acknowledged(received)) = (updated_at, outcome) {
            run.note_clock(at, sent, received);
        }
    }
    let wrong = Call::post(CUSTOMERS, r#"{"customerId":"null","customerData":{"city":5}}"#);
    run.check("Customers", "400: invalid customer", &wrong, &Expected::problem(400, "validation-failed")).await;
}

/// Batches that break a rule or use what clients use seldom.
pub(super) async fn signals(run: &Run<'_>) {
    let account = run.account;
    let same = |call: Call| call;
    let strict = |call: Call| call.header("prefer", "handling=strict");
    let mixed = || run.batch(3).with(account, "");
    let partly = Expected::counts(200, 4, 3)
        .body("/fieldErrors/0/pointer", json!("/signals/3/eventType"))
        .body("/fieldErrors/0/code", json!("blank"));
    run.check_batch(("Signals", "An invalid signal beside valid ones"), mixed(), same, &partly).await;
    let rejected = Expected::counts(400, 4, 0);
    run.check_batch(("Signals", "400: strict handling"), mixed().rejected_whole(), strict, &rejected).await;
    let all = Expected::counts(200, 3, 3);
    run.check_batch(("Signals", "Strict handling of valid signals"), run.batch(3), strict, &all).await;
    let invalid = run.batch(0).with(account, "").with(account, " ");
    let none = Expected::counts(400, 2, 0).body("/code", json!("validation-failed"));
    run.check_batch(("Signals", "400: no valid signal"), invalid, same, &none).await;
    let first = run.batch(3);
    let reused = run.batch(3).identifier(first.identifier.clone());
    run.check_batch(("Retries", "A requestIdentifier"), first, same, &all).await;
    let conflict = Expected::problem(422, "request-identifier-reused");
    run.check_batch(("Retries", "422: requestIdentifier of another body"), reused, same, &conflict).await;
    let without = run.batch(3).identifier(None);
    run.check_batch(("Retries", "No requestIdentifier"), without, same, &all.body("/replayed", json!(false))).await;
    let zipped = |call: Call| call.gzip().header("user-agent", "curl/8.7.1").header("accept", "*/*");
    run.check_batch(("Endpoints", "gzip"), run.batch(25), zipped, &Expected::counts(200, 25, 25)).await;
}

/// Requests just below and just above the limits.
pub(super) async fn limits(run: &Run<'_>) {
    let same = |call: Call| call;
    let (one, none) = (Expected::counts(200, 1, 1), Expected::counts(400, 1, 0));
    let whole = |call: Call| call.padded_to(MAX_BODY_BYTES);
    run.check_batch(("Limits", "A body of 4 MiB"), run.batch(1), whole, &one).await;
    let over = |call: Call| call.padded_to(MAX_BODY_BYTES + 1);
    let too_large = Expected::problem(413, "payload-too-large");
    run.check_batch(("Limits", "413: a body of 4 MiB and a byte"), run.batch(1), over, &too_large).await;
    let many = run.batch(MAX_SIGNALS_PER_REQUEST + 1).rejected_whole();
    let too_many = Expected::problem(413, "too-many-signals");
    run.check_batch(("Limits", "413: 501 signals"), many, same, &too_many).await;
    let longer = run.batch(0).with(run.account, &"e".repeat(MAX_IDENTIFIER_CHARS + 1));
    run.check_batch(("Limits", "400: an eventType of 257 characters"), longer, same, &none).await;
    let largest = run.batch(1).with_first_signal_of(MAX_SIGNAL_BYTES);
    run.check_batch(("Limits", "A signal of 256 KiB"), largest, same, &one).await;
    let larger = run.batch(1).with_first_signal_of(MAX_SIGNAL_BYTES + 1);
    run.check_batch(("Limits", "400: a signal of 256 KiB and a byte"), larger, same, &none).await;
}

/// Errors of requests that hold no signal.
pub(super) async fn errors(run: &Run<'_>) {
    let empty = || Call::post(SIGNALS, r#"{"signals":[]}"#);
    let unsupported = Expected::problem(415, "unsupported-media-type");
    let (not_allowed, options) = (Expected::problem(405, "method-not-allowed"), Expected::status(204));
    let checks = [
        ("400: not JSON", Call::post(SIGNALS, r#"{"signals":[]"#), Expected::problem(400, "malformed-json")),
        ("400: no signals", empty(), Expected::problem(400, "validation-failed")),
        ("415: not application/json", empty().header("content-type", "text/plain"), unsupported.clone()),
        ("415: another encoding", empty().header("content-encoding", "br"), unsupported),
        ("405: another method", Call::new("DELETE", CUSTOMERS), not_allowed.header("allow", "POST")),
        ("OPTIONS without a key", Call::new("OPTIONS", SIGNALS).key(None), options.header("allow", "POST")),
    ];
    for (name, call, expected) in checks {
        run.check("Errors", name, &call, &expected).await;
    }
}

/// What API Gateway answers by itself.
pub(super) async fn gateway(run: &Run<'_>, is_gateway: bool) {
    const PROMISE: &str = "Responses of API Gateway";
    let checks = [
        (404, "404: no route", Call::post("/api/no-such-path", "{}")),
        (403, "403: another host name", Call::new("GET", PING).header("host", "another.invalid")),
        (413, "413: a body of 11 MB", Call::post(SIGNALS, "{}").padded_to(TOO_LARGE_FOR_GATEWAY)),
    ];
    for (status, name, call) in checks {
        if is_gateway {
            run.check(PROMISE, name, &call, &Expected::gateway(status)).await;
        } else {
            run.add(PROMISE, name, Verdict::skipped("only API Gateway shows it"));
        }
    }
}
