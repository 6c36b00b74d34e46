//! Reading and writing single attributes by way of the SDK's values, where an item is small and seldom.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// An item, as the SDK has it.
pub(super) type Item = HashMap<String, AttributeValue>;

/// A string attribute.
pub(super) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub(super) fn n(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// The string attribute `name` of `item`.
pub(super) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// The number attribute `name` of `item`, if it is a whole one.
pub(super) fn whole_number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}
