//! The Lambda event of a DynamoDB stream, and its records ("Using AWS Lambda with Amazon DynamoDB"
//! in the Lambda developer guide).
//!
//! These are own types instead of `aws_lambda_events::dynamodb`, which makes floats of numbers.

use std::borrow::Cow;

use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The principal that deletes items whose time to live has passed ("DynamoDB Streams and Time to
/// Live" in the DynamoDB developer guide).
pub(crate) const TIME_TO_LIVE: &str = "dynamodb.amazonaws.com";

/// Records of a shard, in its order.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamEvent<'a> {
    /// The records as text, so that a record that cannot be read does not fail the others, and the failure
    /// bucket gets it unchanged.
    #[serde(rename = "Records", borrow)]
    pub(crate) records: Vec<&'a RawValue>,
}

/// The position of a record in its Lambda event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordPosition(pub(crate) usize);

/// A record of the change of one item.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StreamRecord<'a> {
    #[serde(rename = "eventID")]
    pub(crate) event_id: Cow<'a, str>,
    pub(crate) event_name: EventName,
    #[serde(default)]
    pub(crate) user_identity: Option<UserIdentity>,
    #[serde(borrow)]
    pub(crate) dynamodb: ItemChange<'a>,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum EventName {
    Insert,
    Modify,
    Remove,
}

/// Who changed an item, if DynamoDB itself did.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserIdentity {
    /// [`TIME_TO_LIVE`] where the item's time to live has passed.
    pub(crate) principal_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ItemChange<'a> {
    #[serde(borrow)]
    pub(crate) keys: ItemKey<'a>,
    #[serde(borrow)]
    pub(crate) new_image: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) old_image: Option<&'a RawValue>,
    /// The time of the change, in seconds since 1970.
    approximate_creation_date_time: Option<f64>,
}

impl ItemChange<'_> {
    /// The time of the change.
    pub(crate) fn changed_at(&self) -> Option<Timestamp> {
        self.approximate_creation_date_time.map(timestamp)
    }
}

/// The key of an item: a signal has a sort key, and a customer does not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemKey<'a> {
    #[serde(borrow)]
    pub(crate) pk: Text<'a>,
    #[serde(borrow)]
    pub(crate) sk: Option<Text<'a>>,
}

/// An attribute that must be a string.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text<'a> {
    #[serde(rename = "S", borrow)]
    pub(crate) text: Cow<'a, str>,
}

/// The ids and the time of a record, as far as it has them: it may have any shape.
#[derive(Debug)]
pub(crate) struct RecordSummary {
    pub(crate) event_id: Option<String>,
    pub(crate) sequence_number: Option<String>,
    /// The time of the change.
    pub(crate) changed_at: Option<Timestamp>,
}

impl RecordSummary {
    /// Reads the ids and the time of a record of any shape.
    pub(crate) fn read(record: &RawValue) -> Self {
        let record: Value = serde_json::from_str(record.get()).unwrap_or_default();
        let text = |pointer| {
            record
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(ToOwned::to_owned)
        };
        Self {
            event_id: text("/eventID"),
            sequence_number: text("/dynamodb/SequenceNumber"),
            changed_at: record
                .pointer("/dynamodb/ApproximateCreationDateTime")
                .and_then(Value::as_f64)
                .map(timestamp),
        }
    }
}

/// A timestamp from seconds since 1970, which the stream has without fractions.
fn timestamp(seconds: f64) -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and so does the timestamp"
    )]
    let millis = (seconds * 1000.0) as u64;
    Timestamp::from_millis(millis)
}
