//! One rejected signal: an item of the table, and a line of `rejected list --json`. Must not know
//! how it is stored again.

use std::borrow::Cow;

use model::account::AccountId;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use model::validation::FieldError;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::attributes::{Item, from_item};
use store::rejected_signals::RejectedSignalItem;

use super::rejected_signal_id::RejectedSignalId;

/// A rejected signal, with the members of a line of `rejected list --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectedSignal {
    pub id: RejectedSignalId,
    pub received_at: Timestamp,
    #[serde(serialize_with = "as_sent")]
    pub request_identifier: RequestIdentifier,
    /// The index of the signal in the request.
    pub index: usize,
    pub key_id: String,
    /// The customer or the emitter, if it could be parsed.
    pub subject_id: Option<String>,
    /// The validation errors that the client received.
    pub errors: Vec<FieldError>,
    /// Whether the payload is only the beginning of what was received.
    pub truncated: bool,
    #[serde(serialize_with = "serialize_payload")]
    pub payload: String,
}

impl RejectedSignal {
    /// `None` when the item is not as the function writes it.
    pub(super) fn from_item(account: &AccountId, item: Item) -> Option<Self> {
        let id = RejectedSignalId::from_item(account, &item)?;
        let record: RejectedSignalItem<'_> = from_item(item).ok()?;
        Some(Self {
            id,
            received_at: record.received_at,
            request_identifier: RequestIdentifier::parse(record.request_identifier)?,
            index: record.index,
            key_id: record.key_id.into_owned(),
            subject_id: record.subject_id.map(Cow::into_owned),
            errors: record.errors.into_owned(),
            truncated: record.truncated,
            payload: record.payload.into_owned(),
        })
    }
}

/// Writes the payload on one line: as JSON if it is valid, else as a string.
fn serialize_payload<S: Serializer>(payload: &str, serializer: S) -> Result<S::Ok, S::Error> {
    // In JSON, line breaks are only between tokens.
    match RawValue::from_string(payload.replace(['\n', '\r'], " ")) {
        Ok(json) => json.serialize(serializer),
        Err(_) => payload.serialize(serializer),
    }
}

/// Writes a requestIdentifier as the client sent it.
fn as_sent<S: Serializer>(id: &RequestIdentifier, serializer: S) -> Result<S::Ok, S::Error> {
    id.as_sent().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(payload: &str) -> RejectedSignal {
        RejectedSignal {
            id: "2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#00ff00ff00ff00ff"
                .to_owned()
                .try_into()
                .unwrap(),
            request_identifier: RequestIdentifier::random(),
            index: 3,
            payload: payload.to_owned(),
            truncated: false,
            errors: Vec::new(),
            subject_id: None,
            key_id: "key_1".to_owned(),
            received_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn payload_is_written_on_one_line() {
        let json = |payload| serde_json::to_string(&rejected(payload)).unwrap();
        assert!(json("{\n\"a\": \"\\ud800\"\r\n}").ends_with(r#","payload":{ "a": "\ud800"  }}"#));
        assert!(json("{\"a\":\n").ends_with(r#","payload":"{\"a\":\n"}"#));
    }
}
