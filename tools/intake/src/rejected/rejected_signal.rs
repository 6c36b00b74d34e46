//! One rejected signal: an item of the table, and a line of `rejected list --json`.

use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::identifier::{RequestIdentifier, UuidText};
use model::timestamp::Timestamp;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::id::RejectedSignalId;
use crate::item::{Item, Json, as_text, json_object};

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RejectedSignal {
    #[serde(with = "as_text")]
    pub(super) id: RejectedSignalId,
    #[serde(with = "as_text")]
    pub(super) received_at: Timestamp,
    #[serde(with = "as_sent")]
    pub(super) request_identifier: RequestIdentifier,
    /// The index of the signal in the request.
    pub(super) index: usize,
    pub(super) key_id: String,
    /// The customer or the emitter, if it could be parsed.
    #[serde(alias = "who")]
    pub(super) subject_id: Option<String>,
    #[serde(alias = "faults")]
    pub(super) errors: Vec<StoredError>,
    /// Whether the payload is only the beginning of what was received.
    #[serde(default)]
    pub(super) truncated: bool,
    #[serde(serialize_with = "serialize_payload")]
    pub(super) payload: String,
}

/// A validation error, as the client received it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredError {
    pub(super) field: String,
    pub(super) pointer: String,
    pub(super) code: String,
    pub(super) message: String,
}

impl RejectedSignal {
    /// `None` when the item is not as the function writes it.
    pub(super) fn from_item(account: &AccountId, item: &Item) -> Option<Self> {
        let id = AttributeValue::S(RejectedSignalId::from_item(account, item)?.to_string());
        let mut object = json_object(item, &[]);
        object.insert("id", Json(&id));
        serde_json::from_str(&serde_json::to_string(&object).ok()?).ok()
    }

    pub(super) fn has_code(&self, code: &str) -> bool {
        self.errors.iter().any(|error| error.code == code)
    }

    /// Whether the signal is about this customer or emitter, as far as an invalid payload tells.
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

/// The identifier of a request as the client wrote it.
mod as_sent {
    use super::*;

    pub(super) fn serialize<S: Serializer>(id: &RequestIdentifier, serializer: S) -> Result<S::Ok, S::Error> {
        id.as_sent().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RequestIdentifier, D::Error> {
        let uuid = UuidText::parse(String::deserialize(deserializer)?);
        uuid.map(Into::into).ok_or_else(|| D::Error::custom("not a UUID"))
    }
}

/// Tells whether an object has this customerId or emitterId; a duplicate member counts, too.
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
    use serde_json::Value;

    use super::*;

    fn rejected(payload: &str) -> RejectedSignal {
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
    fn a_payload_is_about_every_subject_that_it_names() {
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
    fn a_payload_is_written_on_one_line_as_json_or_as_a_string() {
        let json = |payload| serde_json::to_string(&rejected(payload)).unwrap();
        assert!(json("{\n\"a\": \"\\ud800\"\r\n}").ends_with(r#","payload":{ "a": "\ud800"  }}"#));
        assert!(json("{\"a\":\n").ends_with(r#","payload":"{\"a\":\n"}"#));
    }

    #[test]
    fn an_item_is_read_with_present_and_former_attribute_names() {
        let account: AccountId = "shop".parse().unwrap();
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let item = |subject_id: &str, errors: &str| {
            Item::from([
                ("pk".to_owned(), text("shop#2026-11-20#07")),
                ("sk".to_owned(), text("3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#00ff00ff00ff00ff")),
                ("requestIdentifier".to_owned(), text("3FA85F64-5717-4562-b3fc-2c963f66afa6")),
                ("index".to_owned(), AttributeValue::N("3".to_owned())),
                ("payload".to_owned(), text("17")),
                (errors.to_owned(), AttributeValue::L(Vec::new())),
                ("keyId".to_owned(), text("key_1")),
                (subject_id.to_owned(), text("ada")),
                ("receivedAt".to_owned(), text("2026-11-20T22:16:40.009Z")),
            ])
        };
        for item in [item("subjectId", "errors"), item("who", "faults")] {
            let json = serde_json::to_value(RejectedSignal::from_item(&account, &item).unwrap()).unwrap();
            assert_eq!(json["id"], "2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#00ff00ff00ff00ff");
            assert_eq!(json["requestIdentifier"], "3FA85F64-5717-4562-b3fc-2c963f66afa6");
            assert_eq!((&json["subjectId"], &json["errors"]), (&Value::from("ada"), &Value::Array(Vec::new())));
        }
    }
}
