//! One rejected signal: an item of the table, and a line of `rejected list --json`.

use std::borrow::Cow;

use model::account::AccountId;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use model::validation::FieldError;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::attributes::from_item;
use store::rejected_signals::RejectedSignalItem;

use super::id::RejectedSignalId;
use crate::item::Item;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RejectedSignal {
    pub(super) id: RejectedSignalId,
    pub(super) received_at: Timestamp,
    #[serde(serialize_with = "as_sent")]
    pub(super) request_identifier: RequestIdentifier,
    /// The index of the signal in the request.
    pub(super) index: usize,
    pub(super) key_id: String,
    /// The customer or the emitter, if it could be parsed.
    pub(super) subject_id: Option<String>,
    /// The validation errors that the client received.
    pub(super) errors: Vec<FieldError>,
    /// Whether the payload is only the beginning of what was received.
    pub(super) truncated: bool,
    #[serde(serialize_with = "serialize_payload")]
    pub(super) payload: String,
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

    /// Whether the signal is about this customer or emitter, as far as an invalid payload shows it.
    pub(super) fn is_about(&self, subject_id: &str) -> bool {
        self.subject_id.as_deref() == Some(subject_id)
            || match serde_json::Deserializer::from_str(&self.payload).deserialize_any(HasSubject(subject_id)) {
                Ok(has_subject) => has_subject,
                // Truncated, or not valid Unicode: then any mention counts, since an erasure must not miss one.
                Err(_) => serde_json::to_string(subject_id).is_ok_and(|quoted| self.payload.contains(&quoted)),
            }
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

/// Finds out whether an object has this customerId or emitterId; a duplicate member counts, too.
struct HasSubject<'a>(&'a str);

impl<'de> Visitor<'de> for HasSubject<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(name) = members.next_key::<String>()? {
            if name == "customerId" || name == "emitterId" {
                let value: &RawValue = members.next_value()?;
                found |= serde_json::from_str::<String>(value.get()).is_ok_and(|value| value == self.0);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
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
    fn payload_belongs_to_every_subject_in_it() {
        for about in [
            r#"{"customerId":"ada","emitterId":"bob"}"#,
            r#"{"emitterId":"ada"}"#,
            r#"{"customerId":"ada","customerId":"bob"}"#,
            r#"{"customerId":"\u0061da"}"#,
            r#"{"customerId":"ada","data":{"#,
            r#"{"eventType":"\ud800","customerId":"ada"}"#,
        ] {
            assert!(rejected(about).is_about("ada"), "{about}");
        }
        for other in [
            r#"{"customerId":"Ada"}"#,
            r#"{"data":{"customerId":"ada"}}"#,
            "17",
            r#"{"eventType":"ada"}"#,
            r#"{"emitterId":"adam"#,
        ] {
            assert!(!rejected(other).is_about("ada"), "{other}");
        }
    }

    #[test]
    fn payload_is_written_on_one_line() {
        let json = |payload| serde_json::to_string(&rejected(payload)).unwrap();
        assert!(json("{\n\"a\": \"\\ud800\"\r\n}").ends_with(r#","payload":{ "a": "\ud800"  }}"#));
        assert!(json("{\"a\":\n").ends_with(r#","payload":"{\"a\":\n"}"#));
    }
}
