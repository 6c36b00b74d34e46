//! Single requests, each for one promise of docs/api.md.

use consistency::{Outcome, Update};
use model::api_key::{ApiKey, KEY_PREFIX};
use serde_json::{Value, json};

use super::api::{CUSTOMERS, Call, PING, SIGNALS};
use super::check::{Check, Expected};
use super::load::subject_id;
use super::run::{Run, now, outcome};
use crate::check_result::CheckResult;
use crate::time_args::rfc3339;

/// Updates by which the clock of the functions is read.
const CLOCK_READINGS: u32 = 6;

/// Keys that are not accepted everywhere.
pub(super) struct OtherKeys {
    pub(super) expired: ApiKey,
    /// Only for customers.
    pub(super) restricted: ApiKey,
}

/// The API key and what is wrong with one.
pub(super) async fn keys(run: &Run<'_>, keys: &OtherKeys) {
    let ping = Call::new("GET", PING);
    run.check("API keys", "Ping with a valid key", &ping, &Expected::status(200).body("/response", json!("pong")))
        .await;
    let realm = ("www-authenticate", "Bearer realm=\"intake\"");
    let unauthorized = Expected::problem(401, "unauthorized").body("/fieldErrors", json!([])).header(realm.0, realm.1);
    let invalid = unauthorized.clone().header("www-authenticate", "invalid_token");
    let wrong = format!("{KEY_PREFIX}{}", "0".repeat(64));
    run.check("Errors", "401: no key", &ping.clone().key(None), &unauthorized).await;
    run.check("Errors", "401: wrong key", &ping.clone().key(Some(&wrong)), &invalid).await;
    let expired = ping.clone().key(Some(keys.expired.expose_secret()));
    run.check("API keys", "401: expired key", &expired, &invalid).await;
    let restricted = Some(keys.restricted.expose_secret());
    let signals = Call::post(SIGNALS, r#"{"signals":[{"customerId":"c","eventType":"t"}]}"#);
    run.check(
        "API keys",
        "403: key of the other endpoint",
        &signals.key(restricted),
        &Expected::problem(403, "forbidden"),
    )
    .await;
    run.check("API keys", "Ping with a restricted key", &ping.key(restricted), &Expected::status(200)).await;
    // 401 precedes every other error.
    let early = Call::post(SIGNALS, "not JSON").key(None).header("content-type", "text/plain");
    run.check("Errors", "401 precedes other errors", &early, &unauthorized).await;
}

/// Updates of customers, which also read the clock of the functions.
pub(super) async fn customers(run: &Run<'_>) {
    let mut best: Option<(u64, i64)> = None;
    let updates = (0..CLOCK_READINGS).map(|n| vec![("city", Some(format!("city {n}")))]);
    let merge: [Vec<(&'static str, Option<String>)>; 3] = [
        vec![("email", Some("a@example.com".to_owned())), ("phoneNumber", Some("+49 1".to_owned()))],
        vec![("phoneNumber", None), ("gender", Some(String::new()))],
        vec![("firstName", Some("Zoë 😀".to_owned()))],
    ];
    let mut failure = None;
    for (n, fields) in updates.chain(merge).enumerate() {
        let customer = if fields.iter().any(|(name, _)| *name == "city") { 0 } else { 2 };
        let data: Value = fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let body = json!({"customerId": subject_id(customer), "customerData": data});
        // POST and PATCH do the same.
        let call = Call::post(CUSTOMERS, body.to_string()).method(if n % 2 == 0 { "POST" } else { "PATCH" });
        let sent = now();
        let response = run.api.send(&call).await;
        let received = now();
        let is_answered = outcome(&response);
        run.note_update(Update { customer, sent, outcome: is_answered, fields });
        let expected =
            Expected::status(200).body("/customerId", json!(subject_id(customer))).header("x-request-id", "");
        let check = Check::of("Customers", "Updates with POST and PATCH", &call, &response, &expected);
        if check.result == CheckResult::Failed {
            failure = failure.or(Some(check));
        }
        let updated_at = response.ok().and_then(|response| rfc3339(response.body.get("updatedAt")?.as_str()?));
        if let (Some(at), Outcome::Acknowledged(_)) = (updated_at, is_answered) {
            let middle = sent.midpoint(received);
            let offset =
                i64::try_from(at.millis().saturating_mul(1_000)).unwrap_or(i64::MAX).saturating_sub_unsigned(middle);
            let reading = (received.saturating_sub(sent), offset);
            best = Some(best.map_or(reading, |best| best.min(reading)));
        }
    }
    if let Some((round_trip, offset)) = best {
        run.set_clock(offset, round_trip.div_ceil(2).saturating_add(1_000));
    }
    run.add(failure.unwrap_or_else(|| {
        Check::held("Customers", "Updates with POST and PATCH", format!("{} updates, each 200", CLOCK_READINGS + 3))
    }));
    let wrong = Call::post(CUSTOMERS, r#"{"customerId":"null","customerData":{"city":5}}"#);
    run.check("Customers", "400: invalid customer", &wrong, &Expected::problem(400, "validation-failed")).await;
}

/// Batches that break a rule or use what clients use seldom.
pub(super) async fn signals(run: &Run<'_>) {
    let (account, same) = (run.account, |call: Call| call);
    let strict = |call: Call| call.header("prefer", "handling=strict");
    let mixed = run.batch(3).with(account, "");
    let partly = Expected::counts(200, 4, 3)
        .body("/fieldErrors/0/pointer", json!("/signals/3/eventType"))
        .body("/fieldErrors/0/code", json!("blank"));
    run.check_batch(("Signals", "An invalid signal beside valid ones"), mixed, same, &partly).await;
    let mixed = run.batch(3).with(account, "").rejected_whole();
    run.check_batch(("Signals", "400: strict handling"), mixed, strict, &Expected::counts(400, 4, 0)).await;
    let strict_and_valid = Expected::counts(200, 3, 3);
    run.check_batch(("Signals", "Strict handling of valid signals"), run.batch(3), strict, &strict_and_valid).await;
    let invalid = run.batch(0).with(account, "").with(account, " ");
    let none = Expected::counts(400, 2, 0).body("/code", json!("validation-failed"));
    run.check_batch(("Signals", "400: no valid signal"), invalid, same, &none).await;
    let first = run.batch(2);
    let identifier = first.identifier.clone();
    run.check_batch(("Retries", "A requestIdentifier"), first, same, &Expected::counts(200, 2, 2)).await;
    let reused = run.batch(2).identifier(identifier);
    let conflict = Expected::problem(422, "request-identifier-reused");
    run.check_batch(("Retries", "422: requestIdentifier of another body"), reused, same, &conflict).await;
    let without = run.batch(2).without_identifier();
    let generated = Expected::counts(200, 2, 2).body("/replayed", json!(false));
    run.check_batch(("Retries", "No requestIdentifier"), without, same, &generated).await;
    let curl = |call: Call| call.gzip().header("user-agent", "curl/8.7.1").header("accept", "*/*");
    run.check_batch(("Endpoints", "gzip as curl sends it"), run.batch(25), curl, &Expected::counts(200, 25, 25)).await;
    let browser = |call: Call| {
        let call = call.gzip().header("content-type", "application/json;charset=UTF-8").header("accept", "*/*");
        call.header("accept-encoding", "gzip, deflate, br").header("origin", "https://shop.example")
    };
    run.check_batch(
        ("Endpoints", "gzip as a browser sends it"),
        run.batch(25),
        browser,
        &Expected::counts(200, 25, 25),
    )
    .await;
}

/// Errors of requests that hold no signal.
pub(super) async fn errors(run: &Run<'_>) {
    let text = Call::post(SIGNALS, r#"{"signals":[]"#);
    run.check("Errors", "400: not JSON", &text, &Expected::problem(400, "malformed-json")).await;
    let empty = Call::post(SIGNALS, r#"{"signals":[]}"#);
    run.check("Errors", "400: no signals", &empty, &Expected::problem(400, "validation-failed")).await;
    let plain = Call::post(SIGNALS, r#"{"signals":[]}"#).header("content-type", "text/plain");
    run.check("Errors", "415: not application/json", &plain, &Expected::problem(415, "unsupported-media-type")).await;
    let encoded = empty.clone().header("content-encoding", "br");
    run.check("Errors", "415: another encoding", &encoded, &Expected::problem(415, "unsupported-media-type")).await;
    let gzip = empty.clone().header("content-encoding", "gzip");
    run.check("Errors", "400: not gzip", &gzip, &Expected::problem(400, "malformed-json")).await;
    let delete = Call::new("DELETE", CUSTOMERS);
    let allowed = Expected::problem(405, "method-not-allowed").header("allow", "POST");
    run.check("Errors", "405: another method", &delete, &allowed).await;
    let options = Call::new("OPTIONS", SIGNALS).key(None);
    run.check("Endpoints", "OPTIONS without a key", &options, &Expected::status(204).header("allow", "POST")).await;
}
