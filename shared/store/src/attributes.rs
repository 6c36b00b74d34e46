//! Items and their attributes as values of the SDK. The items of signals, which can be large, are
//! written by `dynamodb_json` instead.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use model::json::{Token, Tokens};
use model::number::for_dynamodb;
use model::storable::StorableJson;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;

/// Why reading the text of a [`StorableJson`] cannot fail: the message of each `expect` that does
/// it.
pub(crate) const VALIDATED: &str = "a StorableJson was validated";

/// An item, as the SDK has it.
pub type Item = HashMap<String, AttributeValue>;

pub(crate) fn string(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Writes a value as an item.
///
/// # Errors
/// [`StoreError::Unserializable`], a defect.
pub fn to_item(value: &impl Serialize) -> Result<Item, StoreError> {
    serde_dynamo::to_item(value).map_err(|_| StoreError::Unserializable)
}

/// Reads a value from an item.
///
/// # Errors
/// [`StoreError::Corrupt`] when an attribute is missing or malformed.
pub fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, StoreError> {
    serde_dynamo::from_item(item).map_err(|_| StoreError::Corrupt)
}

/// JSON that the client sent, as an attribute value of the SDK.
pub fn attribute_value(json: StorableJson<'_>) -> AttributeValue {
    fn value<'a>(first: Token<'a>, tokens: &mut Tokens<'a>) -> AttributeValue {
        match first {
            Token::String(text) => AttributeValue::S(text.decode().expect(VALIDATED).into_owned()),
            Token::Number(number) => {
                AttributeValue::N(for_dynamodb(number).expect(VALIDATED).into_owned())
            }
            Token::Bool(value) => AttributeValue::Bool(value),
            Token::BeginArray => {
                let mut list = Vec::new();
                while let Some(element) = tokens.next_element() {
                    list.push(value(element, tokens));
                }
                AttributeValue::L(list)
            }
            Token::BeginObject => {
                let mut map = HashMap::new();
                while let Some(name) = tokens.next_name() {
                    let first = tokens.next().expect(VALIDATED);
                    map.insert(
                        name.decode().expect(VALIDATED).into_owned(),
                        value(first, tokens),
                    );
                }
                AttributeValue::M(map)
            }
            Token::Null | Token::End => AttributeValue::Null(true),
        }
    }
    let mut tokens = json.tokens();
    value(tokens.next().expect(VALIDATED), &mut tokens)
}
