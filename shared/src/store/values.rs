//! Reading and writing single attributes by way of the SDK's values, where an item is small and seldom.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::model::document::Document;
use crate::model::number::for_dynamodb;
use crate::model::token::{Token, Tokens};

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

/// A document as the SDK's value. For small ones: a tree is many times the size of its text.
pub(super) fn attribute(document: Document<'_>) -> AttributeValue {
    let mut tokens = document.tokens();
    tokens.next().map_or(AttributeValue::Null(true), |first| value(first, &mut tokens))
}

fn value<'a>(first: Token<'a>, tokens: &mut Tokens<'a>) -> AttributeValue {
    match first {
        // Checked when the document was: a string is text, a number can be held.
        Token::String(string) => AttributeValue::S(string.decode().unwrap_or_default().into_owned()),
        Token::Number(number) => AttributeValue::N(for_dynamodb(number).unwrap_or_default().into_owned()),
        Token::Bool(truth) => AttributeValue::Bool(truth),
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
                let Some(member) = tokens.next() else { break };
                map.insert(name.decode().unwrap_or_default().into_owned(), value(member, tokens));
            }
            AttributeValue::M(map)
        }
        Token::Null | Token::EndObject | Token::EndArray => AttributeValue::Null(true),
    }
}
