//! The fields of a signal that are not in the contract.

use crate::json::{RawString, Value};
use crate::storable::StorableJson;

/// The fields of a signal in the contract, of both shapes.
pub(crate) const SIGNAL_FIELDS: [&str; 6] =
    ["customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data"];

/// The fields of a valid signal that are not in the contract and not null, in the order in which they were sent. Each
/// iteration reads them from the text again: a list of them would take several times the memory of the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownFields<'a>(Option<Value<'a>>);

impl<'a> UnknownFields<'a> {
    /// Of `signal`, a valid one that has at least one.
    pub(crate) fn of(signal: Value<'a>) -> Self {
        Self(Some(signal))
    }

    /// Whether every field of the signal is in the contract.
    pub fn is_empty(self) -> bool {
        self.0.is_none()
    }

    /// The names and values, as they were sent.
    pub fn iter(self) -> impl Iterator<Item = (RawString<'a>, StorableJson<'a>)> {
        self.0.into_iter().flat_map(unknown_fields).map(|(name, value)| (name, StorableJson::validated(value)))
    }
}

/// The fields of `signal`, valid or not, that are not in the contract and not null.
pub(crate) fn unknown_fields(signal: Value<'_>) -> impl Iterator<Item = (RawString<'_>, Value<'_>)> {
    let is_known = |name: RawString<'_>| name.decode().is_ok_and(|name| SIGNAL_FIELDS.contains(&name.as_ref()));
    signal.raw_fields().filter(move |(name, value)| !value.is_null() && !is_known(*name))
}
