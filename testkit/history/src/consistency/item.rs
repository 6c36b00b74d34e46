//! Reads an item of the table of signals, as docs/data-model.md describes it. Must not know what
//! was sent.

use std::time::Duration;

use model::timestamp::Timestamp;
use serde_json::Value;

use super::record::{Fingerprint, KeptSignal, StoredSignal};

/// The signal in `item`, DynamoDB's JSON of it, which loses the attributes that the service adds.
/// Its request and its index are the numbers `request` and `n` in its `data`. `who` is its customer
/// or emitter. It has to expire after `retention`, or never.
pub fn stored_signal(
    item: &mut Value,
    who: Option<u32>,
    retention: Option<Duration>,
) -> StoredSignal {
    let attribute = |name: &str| item.get(name).unwrap_or(&Value::Null);
    let data = |name: &str| {
        let number = attribute("data").pointer(&format!("/M/{name}/N"));
        number
            .and_then(Value::as_str)
            .and_then(|n| n.parse().ok())
            .unwrap_or(u64::MAX)
    };
    let (request, index) = (data("request"), data("n"));
    let id = text(attribute("customerId")).max(text(attribute("emitterId")));
    let received_at = text(attribute("receivedAt"));
    let identifier = text(attribute("requestIdentifier")).to_owned();
    let time = received_at.parse::<Timestamp>().ok();
    let expires_at = time
        .zip(retention)
        .map(|(time, retention)| time.plus(retention).seconds().to_string());
    let key = format!("{received_at}#{}#{index:04}", identifier.to_lowercase());
    let contradiction = if text(attribute("pk")) != format!("{}#{id}", text(attribute("accountId")))
    {
        Some("its pk is not its account and customer or emitter")
    } else if text(attribute("sk")) != key {
        Some("its sk is not its time, requestIdentifier and index")
    } else if attribute("expiresAt").get("N").and_then(Value::as_str) != expires_at.as_deref() {
        Some("it does not expire after the retention")
    } else if uuid::Uuid::parse_str(&identifier).is_err() {
        Some("its requestIdentifier is not a UUID")
    } else {
        None
    };
    if let Some(item) = item.as_object_mut() {
        for name in ["pk", "sk", "receivedAt", "requestIdentifier", "expiresAt"] {
            item.remove(name);
        }
    }
    StoredSignal {
        who,
        request,
        index,
        content: Fingerprint::of(&item.to_string()),
        identifier,
        received_at: time.map_or(0, |time| time.millis() * 1_000),
        contradiction,
    }
}

/// The rejected signal with this payload. Its request and its index are in its `data`, as those of
/// a stored one.
pub fn kept_signal(payload: &str) -> KeptSignal {
    let signal: Value = serde_json::from_str(payload).unwrap_or_default();
    let number = |pointer| {
        signal
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or(u64::MAX)
    };
    KeptSignal {
        request: number("/data/request"),
        index: number("/data/n"),
        content: Fingerprint::of(payload),
    }
}

/// A string of an item.
fn text(value: &Value) -> &str {
    value.get("S").and_then(Value::as_str).unwrap_or_default()
}
