//! Attributes of small items, as the SDK's values.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use model::timestamp::Timestamp;

use crate::error::StoreError;

/// An item, as the SDK has it.
pub type Item = HashMap<String, AttributeValue>;

/// A string attribute.
pub(crate) fn string(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub(crate) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// The timestamp in the attribute `name` of `item`, if it has that attribute.
pub(crate) fn get_timestamp(item: &Item, name: &str) -> Result<Option<Timestamp>, StoreError> {
    let parse = |value: &AttributeValue| value.as_s().ok().and_then(|text| text.parse().ok());
    item.get(name).map(|value| parse(value).ok_or(StoreError::Corrupt)).transpose()
}

/// A timestamp as whole seconds since 1970, the form of DynamoDB's time to live.
pub(crate) mod epoch_seconds {
    use super::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Timestamp::seconds).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        let seconds = u64::deserialize(deserializer)?;
        Ok(Some(Timestamp::from_millis(seconds.saturating_mul(1000))))
    }
}
