//! Reads an item of the table of signals, as docs/data-model.md describes it. This module must not
//! know what was sent.

use std::time::Duration;

use model::timestamp::Timestamp;
use serde_json::Value;

use super::run_record::{StoredRejectedSignal, StoredSignal};

/// The signal in `item`, DynamoDB's JSON of it, which loses the attributes that the service adds.
/// Its request and its index are the numbers `request` and `n` in its `data`. `subject` is its customer
/// or emitter. It has to expire after `retention`.
pub(crate) fn stored_signal(
    item: &mut Value,
    subject: Option<u32>,
    retention: Duration,
) -> StoredSignal {
    let request = number_in_data(item, "request");
    let index = number_in_data(item, "n");
    let contradiction = contradiction(item, index, retention);
    let identifier = text(&item["requestIdentifier"]).to_owned();
    let received_at = received_at(item).map_or(0, |time| time.millis() * 1_000);
    if let Some(item) = item.as_object_mut() {
        for name in ["pk", "sk", "receivedAt", "requestIdentifier", "expiresAt"] {
            item.remove(name);
        }
    }
    StoredSignal {
        subject,
        request,
        index,
        content: item.to_string(),
        identifier,
        received_at,
        contradiction,
    }
}

/// What does not fit together in an item, if anything does not.
fn contradiction(item: &Value, index: u64, retention: Duration) -> Option<&'static str> {
    let text_of = |name: &str| text(&item[name]);
    let account = text_of("accountId");
    // An item has only one of them.
    let subject = text_of("customerId").max(text_of("emitterId"));
    if text_of("pk") != format!("{account}#{subject}") {
        return Some("its pk is not its account and customer or emitter");
    }
    let identifier = text_of("requestIdentifier");
    let time = text_of("receivedAt");
    if text_of("sk") != format!("{time}#{}#{index:04}", identifier.to_lowercase()) {
        return Some("its sk is not its time, requestIdentifier and index");
    }
    let expected_expiry = received_at(item).map(|time| time.plus(retention).seconds().to_string());
    let expires_at = item["expiresAt"]["N"].as_str();
    if expires_at != expected_expiry.as_deref() {
        return Some("it does not expire after the retention");
    }
    if uuid::Uuid::parse_str(identifier).is_err() {
        return Some("its requestIdentifier is not a UUID");
    }
    None
}

fn received_at(item: &Value) -> Option<Timestamp> {
    text(&item["receivedAt"]).parse().ok()
}

fn number_in_data(item: &Value, name: &str) -> u64 {
    let number = item["data"]["M"][name]["N"].as_str();
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or(u64::MAX)
}

/// The rejected signal with this payload. Its request and its index are in its `data`, like those of
/// a stored one.
pub(crate) fn stored_rejected_signal(payload: &str) -> StoredRejectedSignal {
    let signal: Value = serde_json::from_str(payload).unwrap_or_default();
    let number = |name| signal["data"][name].as_u64().unwrap_or(u64::MAX);
    StoredRejectedSignal {
        request: number("request"),
        index: number("n"),
        content: payload.to_owned(),
    }
}

/// A string of an item.
pub(crate) fn text(value: &Value) -> &str {
    value["S"].as_str().unwrap_or_default()
}
