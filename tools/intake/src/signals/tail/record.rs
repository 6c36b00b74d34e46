//! A record of a stream as an item of the table. The SDK has types of its own for streams, which are otherwise the same.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::{AttributeValue as StreamValue, OperationType, Record};

use crate::item::Item;

/// The signal of a record, if the record says that a signal was stored.
pub(super) fn stored_signal(record: Record) -> Option<Item> {
    if record.event_name != Some(OperationType::Insert) {
        return None;
    }
    Some(item(record.dynamodb?.new_image?))
}

fn item(image: HashMap<String, StreamValue>) -> Item {
    image.into_iter().map(|(name, value)| (name, attribute(value))).collect()
}

fn attribute(value: StreamValue) -> AttributeValue {
    match value {
        StreamValue::S(text) => AttributeValue::S(text),
        StreamValue::N(number) => AttributeValue::N(number),
        StreamValue::Bool(value) => AttributeValue::Bool(value),
        StreamValue::L(list) => AttributeValue::L(list.into_iter().map(attribute).collect()),
        StreamValue::M(map) => AttributeValue::M(item(map)),
        // This service never writes sets and bytes.
        _ => AttributeValue::Null(true),
    }
}
