//! Attributes of small items.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_dynamo::Item;

use crate::error::StoreError;

/// The item of a record.
pub(crate) fn to_item(record: &impl Serialize) -> Result<Item, StoreError> {
    serde_dynamo::to_item(record).map_err(|_| StoreError::Invalid)
}

/// The record in an item. An attribute that is missing or malformed is [`StoreError::Corrupt`].
pub(crate) fn from_item<T: DeserializeOwned>(item: impl Into<Item>) -> Result<T, StoreError> {
    serde_dynamo::from_item(item.into()).map_err(|_| StoreError::Corrupt)
}

/// A string, as DynamoDB's JSON has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StringAttribute<T> {
    #[serde(rename = "S")]
    pub(crate) value: T,
}

/// Reads an attribute that may be missing, but must not be NULL.
pub(crate) fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A timestamp that may be missing, as whole seconds since 1970: the form of DynamoDB's time to live.
pub(crate) mod epoch_seconds {
    use model::timestamp::Timestamp;
    use serde::{Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Timestamp::seconds).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        let seconds: Option<u64> = super::not_null(deserializer)?;
        Ok(seconds.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000))))
    }
}
