//! One rejected signal, as it is kept.

use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::identifier::{RequestIdentifier, UuidText};
use model::timestamp::Timestamp;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserializer as _, Serialize};
use serde_json::value::RawValue;

use super::id::RejectedSignalId;
use crate::item::{Item, text};

#[derive(Debug)]
pub(crate) struct RejectedSignal {
    pub(super) id: RejectedSignalId,
    pub(super) request_identifier: RequestIdentifier,
    /// Its place in the request.
    pub(super) index: usize,
    /// As it was received; its begin only, if it is truncated.
    pub(super) payload: String,
    pub(super) truncated: bool,
    pub(super) errors: Vec<StoredError>,
    pub(super) subject_id: Option<String>,
    pub(super) key_id: String,
    pub(super) received_at: Timestamp,
}

/// An error, as it was told to the client.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StoredError {
    pub(super) field: String,
    pub(super) pointer: String,
    pub(super) code: String,
    pub(super) message: String,
}

impl RejectedSignal {
    /// `None` when the item is not as the function writes it.
    pub(super) fn read(account: &AccountId, item: &Item) -> Option<Self> {
        let errors = item.get("faults")?.as_l().ok()?;
        Some(Self {
            id: RejectedSignalId::of(account, item)?,
            request_identifier: UuidText::parse(text(item, "requestIdentifier")?)?.into(),
            index: item.get("index")?.as_n().ok()?.parse().ok()?,
            payload: text(item, "payload")?.to_owned(),
            truncated: item.get("truncated").is_some_and(|truncated| *truncated == AttributeValue::Bool(true)),
            errors: errors.iter().map(StoredError::read).collect::<Option<_>>()?,
            subject_id: text(item, "who").map(ToOwned::to_owned),
            key_id: text(item, "keyId")?.to_owned(),
            received_at: text(item, "receivedAt")?.parse().ok()?,
        })
    }

    pub(super) fn has_code(&self, code: &str) -> bool {
        self.errors.iter().any(|error| error.code == code)
    }

    /// Whether this is about `subject_id`: a customer or an emitter, as far as that can be told of a payload that is wrong.
    pub(super) fn is_about(&self, subject_id: &str) -> bool {
        self.subject_id.as_deref() == Some(subject_id)
            || match serde_json::Deserializer::from_str(&self.payload).deserialize_any(Names(subject_id)) {
                Ok(named) => named,
                // Cut off, or no Unicode text: then a mention counts, since a person must not be left in it.
                Err(_) => serde_json::to_string(subject_id).is_ok_and(|quoted| self.payload.contains(&quoted)),
            }
    }

    /// The payload in one line: a JSON value if it is one, else a JSON string of what there is.
    pub(super) fn payload_line(&self) -> Box<RawValue> {
        // Line breaks in JSON stand between its tokens only.
        let one_line = self.payload.replace(['\n', '\r'], " ");
        let whole = if self.truncated { None } else { RawValue::from_string(one_line).ok() };
        whole.unwrap_or_else(|| serde_json::value::to_raw_value(&self.payload).unwrap_or_default())
    }
}

impl StoredError {
    fn read(value: &AttributeValue) -> Option<Self> {
        let error = value.as_m().ok()?;
        let member = |name| text(error, name).map(ToOwned::to_owned);
        Some(Self {
            field: member("field")?,
            pointer: member("pointer")?,
            code: member("code")?,
            message: member("message")?,
        })
    }
}

/// Whether an object names this customer or emitter, in any of its members, doubled ones included.
struct Names<'a>(&'a str);

impl<'de> Visitor<'de> for Names<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut named = false;
        while let Some(name) = members.next_key::<String>()? {
            if name == "customerId" || name == "emitterId" {
                let value: &RawValue = members.next_value()?;
                named |= serde_json::from_str::<String>(value.get()).is_ok_and(|value| value == self.0);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(payload: &str) -> RejectedSignal {
        RejectedSignal {
            id: "2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#00ff00ff00ff00ff".parse().unwrap(),
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
    fn a_payload_is_about_whoever_it_names() {
        for about in [
            r#"{"customerId":"ada","emitterId":"bob"}"#,
            r#"{"emitterId":"ada"}"#,
            r#"{"customerId":"ada","customerId":"bob"}"#,
            r#"{"customerId":"\u0061da"}"#,
            r#"{"customerId":"ada","data":{"#,
            r#"{"eventType":"\ud800","customerId":"ada"}"#,
        ] {
            assert!(signal(about).is_about("ada"), "{about}");
        }
        for other in [
            r#"{"customerId":"Ada"}"#,
            r#"{"data":{"customerId":"ada"}}"#,
            "17",
            r#"{"eventType":"ada"}"#,
            r#"{"emitterId":"adam"#,
        ] {
            assert!(!signal(other).is_about("ada"), "{other}");
        }
    }

    #[test]
    fn a_payload_takes_one_line() {
        assert_eq!(signal("{\n\"a\": \"\\ud800\"\r\n}").payload_line().get(), "{ \"a\": \"\\ud800\"  }");
        assert_eq!(RejectedSignal { truncated: true, ..signal("{\"a\":\n") }.payload_line().get(), r#""{\"a\":\n""#);
    }
}
