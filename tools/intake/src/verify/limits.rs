//! Requests just below and just above the limits of docs/api.md.

use model::limits::{MAX_BODY_BYTES, MAX_IDENTIFIER_CHARS, MAX_SIGNAL_BYTES, MAX_SIGNALS_PER_REQUEST};

use super::api::{Call, SIGNALS};
use super::check::{Check, Expected};
use super::gateway::ONLY_GATEWAY;
use super::run::Run;

/// The largest request that API Gateway takes: 10 MB.
const GATEWAY_BYTES: usize = 10 * 1024 * 1024;

const LIMITS: &str = "Limits";

pub(super) async fn check(run: &Run<'_>, is_gateway: bool) {
    let same = |call: Call| call;
    let whole = |call: Call| call.padded_to(MAX_BODY_BYTES);
    let over = |call: Call| call.padded_to(MAX_BODY_BYTES + 1);
    let accepted = Expected::counts(200, 1, 1);
    run.check_batch((LIMITS, "A body of 4 MiB"), run.batch(1), whole, &accepted).await;
    let too_large = Expected::problem(413, "payload-too-large");
    run.check_batch((LIMITS, "413: a body of 4 MiB and a byte"), run.batch(1), over, &too_large).await;
    let packed = |call: Call| call.padded_to(MAX_BODY_BYTES + 1).gzip();
    run.check_batch((LIMITS, "413: 4 MiB and a byte in gzip"), run.batch(1), packed, &too_large).await;
    let many = run.batch(MAX_SIGNALS_PER_REQUEST + 1).rejected_whole();
    let too_many = Expected::problem(413, "too-many-signals");
    run.check_batch((LIMITS, "413: 501 signals"), many, same, &too_many).await;
    let longest = run.batch(0).with(run.account, &"e".repeat(MAX_IDENTIFIER_CHARS));
    run.check_batch((LIMITS, "An eventType of 256 characters"), longest, same, &accepted).await;
    let longer = run.batch(0).with(run.account, &"e".repeat(MAX_IDENTIFIER_CHARS + 1));
    run.check_batch((LIMITS, "400: an eventType of 257 characters"), longer, same, &Expected::counts(400, 1, 0)).await;
    let largest = run.batch(1).with_first_signal_of(MAX_SIGNAL_BYTES, true);
    run.check_batch((LIMITS, "A signal of 256 KiB"), largest, same, &accepted).await;
    let larger = run.batch(1).with_first_signal_of(MAX_SIGNAL_BYTES + 1, false);
    run.check_batch((LIMITS, "400: a signal of 256 KiB and a byte"), larger, same, &Expected::counts(400, 1, 0)).await;
    gateway(run, is_gateway).await;
}

async fn gateway(run: &Run<'_>, is_gateway: bool) {
    const PROMISE: &str = "Responses of API Gateway";
    let names = ["413: a body of 9.9 MB", "413: a body of more than 10 MB"];
    if !is_gateway {
        for name in names {
            run.add(Check::skipped(PROMISE, name, ONLY_GATEWAY));
        }
        return;
    }
    let padded = |bytes| Call::post(SIGNALS, r#"{"signals":[]}"#).padded_to(bytes);
    // Lambda takes 6 MB: whether API Gateway or Lambda refuses it, nothing of it is stored.
    run.check(PROMISE, names[0], &padded(GATEWAY_BYTES - 100_000), &Expected::status(413).or_status(500)).await;
    run.check(PROMISE, names[1], &padded(GATEWAY_BYTES + 100_000), &Expected::gateway(413)).await;
}
