//! Names that `serde_json` reserves for itself. dynoxide reads each attribute as a `serde_json::Value`, which
//! takes an object for a value of its own if the first name in it is reserved. dynoxide then refuses the item;
//! DynamoDB stores it. So the emulator gives dynoxide other names, and gives the original names back in its
//! responses. This module must not know what a name is for.

use std::borrow::Cow;

use serde_json::Value;

/// What these names begin with.
const PREFIX: &str = "$serde_json::private::";

/// What such a text has more at its end while it is inside. A text that ends so already gets one more, so that
/// each has its own.
const MARK: char = '~';

/// A call as dynoxide gets it.
pub(super) fn hide(call: &[u8]) -> Cow<'_, [u8]> {
    change_texts(call, |mut text| {
        text.push(MARK);
        text
    })
}

/// A response of dynoxide as a client gets it.
pub(super) fn show(response: Vec<u8>) -> Vec<u8> {
    let changed = match change_texts(&response, shown) {
        Cow::Owned(changed) => Some(changed),
        Cow::Borrowed(_) => None,
    };
    changed.unwrap_or(response)
}

/// What dynoxide has stored, as a client wrote it.
pub(super) fn show_value(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with(PREFIX) => Value::String(shown(text)),
        Value::Array(values) => values.into_iter().map(show_value).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, value)| (shown_name(name), show_value(value)))
                .collect()
        }
        other => other,
    }
}

fn shown_name(name: String) -> String {
    if name.starts_with(PREFIX) {
        shown(name)
    } else {
        name
    }
}

fn shown(mut text: String) -> String {
    if text.ends_with(MARK) {
        text.pop();
    }
    text
}

/// JSON in which each text that begins with the prefix is changed. Others stay as they are written.
fn change_texts(json: &[u8], change: impl Fn(String) -> String) -> Cow<'_, [u8]> {
    // What is no UTF-8 is no JSON, and is refused.
    let Ok(text) = str::from_utf8(json) else {
        return Cow::Borrowed(json);
    };
    // An escape may stand for any character of the prefix.
    if !text.contains(PREFIX) && !text.contains("\\u") {
        return Cow::Borrowed(json);
    }
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        let (before, from_quote) = rest.split_at(start);
        let (literal, after) = from_quote.split_at(literal_length(from_quote));
        changed += before;
        match serde_json::from_str::<String>(literal) {
            Ok(text) if text.starts_with(PREFIX) => {
                changed += &Value::String(change(text)).to_string();
            }
            _ => changed += literal,
        }
        rest = after;
    }
    changed += rest;
    Cow::Owned(changed.into_bytes())
}

/// The length of the text at the beginning of this JSON, with both quotation marks. Without an end, it is all
/// that is left.
fn literal_length(json: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    json.len()
}
