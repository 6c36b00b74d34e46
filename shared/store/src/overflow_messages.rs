//! The messages of the overflow queue: what a function accepted and DynamoDB did not acknowledge in
//! time. The overflow function stores it later (docs/outages.md, The overflow queue).
//!
//! This module must not know when signals and updates are deferred.

mod deferred_batch;
mod deferred_update;
mod format;

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::Deserialize;

pub use self::deferred_batch::{DeferredBatch, DeferredSignal, batch_messages};
pub use self::deferred_update::{DeferredUpdateHead, update_message};
pub use self::format::MessageError;
use self::format::{BATCH, UPDATE, VERSION, read};

/// The environment variable with the URL of the overflow queue.
pub const QUEUE_VARIABLE: &str = "OVERFLOW_QUEUE_URL";

/// The environment variable with the URL of the dead-letter queue of the overflow queue.
pub const DEAD_LETTER_QUEUE_VARIABLE: &str = "DEAD_LETTER_QUEUE_URL";

/// What a message of the overflow queue holds.
#[derive(Clone, Debug)]
pub enum Deferred<'a> {
    /// Signals of one request, with what it takes to write their items.
    Batch(DeferredBatch<'a>),
    /// An update of a customer. The changes are read from the same text, like the body of a request.
    Update(DeferredUpdateHead<'a>),
}

/// The members of a message that say whether this version can read it, and what it holds.
#[derive(Deserialize)]
struct MessageHead<'a> {
    version: u32,
    /// Messages of a newer version may have none.
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
}

impl<'a> Deferred<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// [`MessageError`]
    pub fn parse(text: &'a str) -> Result<Self, MessageError> {
        let head: MessageHead<'a> = read(text)?;
        match head.version.cmp(&VERSION) {
            Ordering::Less => return Err(MessageError::Unreadable),
            Ordering::Equal => {}
            Ordering::Greater => return Err(MessageError::Newer),
        }
        match head.kind.as_deref() {
            Some(BATCH) => read(text).map(Self::Batch),
            Some(UPDATE) => read(text).map(Self::Update),
            Some(_) => Err(MessageError::Newer),
            None => Err(MessageError::Unreadable),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::customer::CustomerUpdate;
    use model::json::JsonText;
    use serde_json::json;

    use super::*;

    fn error(message: &str) -> MessageError {
        Deferred::parse(message).expect_err(message)
    }

    #[test]
    fn message_of_an_unknown_kind_or_version_is_newer_and_of_a_known_one_unreadable() {
        let with_kind = |kind: &str| format!(r#"{{"version":1,"kind":"{kind}","accountId":1}}"#);
        assert_eq!(error(&with_kind("erasure")), MessageError::Newer);
        assert_eq!(error(&with_kind("batch")), MessageError::Unreadable);
        assert_eq!(
            error(r#"{"version":1000,"kind":"batch"}"#),
            MessageError::Newer
        );
        assert_eq!(error(r#"{"version":1000}"#), MessageError::Newer);
        for unreadable in [
            "",
            "{}",
            "[]",
            r#"{"version":1}"#,
            r#"{"version":"1"}"#,
            r#"{"version":0,"kind":"batch"}"#,
        ] {
            assert_eq!(error(unreadable), MessageError::Unreadable);
        }
    }

    /// As the release 0.1.0 writes them: what is queued when a later version is deployed.
    #[test]
    fn messages_of_the_oldest_version_that_is_read_have_all_that_is_stored() {
        let batch = r#"{"kind":"batch","version":1,"accountId":"acme","keyId":"key_0123456789ab","requestIdentifier":"5F1A3C7E-0b44-4f5e-9d3a-7c2f5b1e8a90","needsRecord":true,"receivedAt":"2026-11-20T22:33:44.123Z","expiresAt":1802990024,"bodyHash":"b1","signalsHash":"5e","signals":[{"index":1,"text":"{\"customerId\":\"c\",\"eventType\":\"t\"}"}],"rejected":[{"pk":"acme#2026-11-20#07","sk":"5f1a3c7e-0b44-4f5e-9d3a-7c2f5b1e8a90#0000#4523540f1504cd17","accountId":"acme","keyId":"key_0123456789ab","requestIdentifier":"5F1A3C7E-0b44-4f5e-9d3a-7c2f5b1e8a90","index":0,"receivedAt":"2026-11-20T22:33:44.123Z","payload":"17","errors":[{"field":"signals[0]","pointer":"/signals/0","code":"invalid-type","message":"signals[0] must be an object."}],"expiresAt":1796423624}]}"#;
        let Ok(Deferred::Batch(batch)) = Deferred::parse(batch) else {
            panic!("{batch}")
        };
        let identifier = batch.request_identifier().unwrap();
        assert_eq!(identifier.as_sent(), "5F1A3C7E-0b44-4f5e-9d3a-7c2f5b1e8a90");
        assert_eq!(batch.account_id.as_str(), "acme");
        assert_eq!(batch.key_id, "key_0123456789ab");
        assert!(batch.needs_record);
        assert_eq!(batch.received_at.to_string(), "2026-11-20T22:33:44.123Z");
        assert_eq!(batch.expires_at, Some(1_802_990_024));
        let hashes = serde_json::to_value(&batch.hashes).unwrap();
        assert_eq!(hashes, json!({"bodyHash": "b1", "signalsHash": "5e"}));
        let [signal] = batch.signals.as_slice() else {
            panic!("{batch:?}")
        };
        assert_eq!(signal.index, 1);
        assert_eq!(signal.text, r#"{"customerId":"c","eventType":"t"}"#);
        let [rejected] = batch.rejected.as_slice() else {
            panic!("{batch:?}")
        };
        assert_eq!((rejected.index, rejected.truncated), (0, false));
        assert_eq!((&*rejected.payload, rejected.errors.len()), ("17", 1));

        let update = r#"{"kind":"update","version":1,"accountId":"acme","keyId":"key_0123456789ab","fence":1882418340558799265,"id":"6fbfaa5b-c6f7-41f2-b0a6-6d1b0fdf807b","customerId":"c","customerData":{"city":"Ulm","zip":null}}"#;
        let Ok(Deferred::Update(head)) = Deferred::parse(update) else {
            panic!("{update}")
        };
        assert_eq!(head.account_id.as_str(), "acme");
        assert_eq!(head.key_id, "key_0123456789ab");
        let mark = serde_json::to_value(head.mark).unwrap();
        assert_eq!(
            mark,
            json!({"fence": 1_882_418_340_558_799_265_u64, "id": "6fbfaa5b-c6f7-41f2-b0a6-6d1b0fdf807b"})
        );
        let changes = CustomerUpdate::read_accepted(JsonText::parse(update).unwrap()).unwrap();
        assert_eq!((changes.customer_id(), changes.changes().len()), ("c", 2));
    }
}
