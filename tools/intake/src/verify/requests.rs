//! Single requests, for what a deployment can break: the table of the keys, API Gateway, and what it hands over. The rules of the
//! functions have tests of their own: the same program is deployed.

use consistency::{Outcome, Update};
use model::api_key::KEY_PREFIX;
use model::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};

use super::api::{CUSTOMERS, Call, Expected, PING, SIGNALS, now};
use super::load::subject_id;
use super::run::{Run, outcome};
use crate::check_result::Verdict;

/// The customers whose profiles are updated.
const MERGED: u32 = 0;
const OVERWRITTEN: u32 = 2;

/// More than the 10 MB that API Gateway takes.
const TOO_LARGE_FOR_GATEWAY: usize = 11 * 1024 * 1024;

/// A valid API key, none and a wrong one.
pub(super) async fn keys(run: &Run<'_>) {
    let ping = || Call::new("GET", PING);
    let wrong = format!("{KEY_PREFIX}{}", "0".repeat(64));
    let answered = Expected::status(200).body("/response", json!("pong"));
    let missing = Expected::problem(401, "unauthorized").header("www-authenticate", "Bearer realm=\"intake\"");
    let invalid = missing.clone().header("www-authenticate", "invalid_token");
    let checks = [
        ("Ping with a valid key", ping(), &answered),
        ("401: no key", ping().key(None), &missing),
        ("401: wrong key", ping().key(Some(&wrong)), &invalid),
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
        let updated_at = response.ok().and_then(|response| response.body.get("updatedAt")?.as_str()?.parse().ok());
        if let (Some(at), Outcome::Acknowledged(received)) = (updated_at, outcome) {
            run.note_clock(at, sent, received);
        }
    }
}

/// What API Gateway hands over: a compressed body, the largest one, and a preflight request, which has no key.
pub(super) async fn handed_over(run: &Run<'_>) {
    let zipped = |call: Call| call.gzip().header("user-agent", "curl/8.7.1").header("accept", "*/*");
    run.check_batch(("Endpoints", "gzip"), run.batch(25), zipped, &Expected::counts(200, 25, 25)).await;
    let whole = |call: Call| call.padded_to(MAX_BODY_BYTES);
    run.check_batch(("Limits", "A body of 4 MiB"), run.batch(1), whole, &Expected::counts(200, 1, 1)).await;
    let preflight = Call::new("OPTIONS", SIGNALS).key(None);
    let expected = Expected::status(204).header("allow", "POST");
    run.check("Endpoints", "OPTIONS without a key", &preflight, &expected).await;
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
