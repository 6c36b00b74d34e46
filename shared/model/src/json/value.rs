//! A body whose JSON syntax was checked, and its values. Of a value, only the type is read until
//! more is needed.

use serde_json::value::RawValue;

use super::string::{CHECKED, RawString};
use super::tokens::{Token, Tokens};

/// A text that is one JSON value (RFC 8259), checked.
#[derive(Clone, Copy, Debug)]
pub struct JsonText<'a>(&'a str);

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonSyntaxError {
    /// What is wrong, in a few words without any of the text.
    pub reason: String,
    /// The line of the error, counted from 1.
    pub line: usize,
    /// The column of the error in bytes, counted from 1; 0 for an end of the text right after a
    /// line break.
    pub column: usize,
}

impl<'a> JsonText<'a> {
    /// Checks that `text` is one JSON value, with nothing but white space around it.
    ///
    /// # Errors
    /// [`JsonSyntaxError`] with the first place where it is not.
    pub fn parse(text: &'a str) -> Result<Self, JsonSyntaxError> {
        serde_json::from_str::<&RawValue>(text)
            .map(|raw| Self(raw.get()))
            .map_err(|error| {
                let message = error.to_string();
                let reason = if text.starts_with('\u{feff}') {
                    // RFC 8259, section 8.1, forbids it. Editors do not show it.
                    "a byte order mark before the JSON"
                } else if text.trim_ascii().is_empty() {
                    "an empty text"
                } else if is_at_no_number(text, error.line(), error.column()) {
                    // JavaScript, Python and Java write these words, and JSON has none of them.
                    "NaN or Infinity, which JSON does not have (send null)"
                } else {
                    message
                        .split_once(" at line ")
                        .map_or(message.as_str(), |(reason, _)| reason)
                };
                JsonSyntaxError {
                    reason: reason.to_owned(),
                    line: error.line(),
                    column: error.column(),
                }
            })
    }

    /// The text, without the white space around it.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The value that the text is.
    pub fn value(self) -> Value<'a> {
        Value {
            first: Tokens::new(self.0).next_token(),
            text: self.0,
        }
    }
}

/// Whether a word that is no number in JSON is at this place of `text`.
fn is_at_no_number(text: &str, line: usize, column: usize) -> bool {
    let line = line
        .checked_sub(1)
        .and_then(|before| text.split('\n').nth(before));
    let from_column = line
        .zip(column.checked_sub(1))
        .and_then(|(line, before)| line.get(before..));
    from_column.is_some_and(|word| word.starts_with("NaN") || word.starts_with("Infinity"))
}

/// A JSON value whose syntax was checked.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    pub(super) first: Token<'a>,
    pub(super) text: &'a str,
}

impl<'a> Value<'a> {
    /// The JSON text of the value, as it was sent.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Whether the value is `null`.
    pub fn is_null(self) -> bool {
        matches!(self.first, Token::Null)
    }

    /// The string, or `None` for a value of another type.
    pub fn as_string(self) -> Option<RawString<'a>> {
        if let Token::String(string) = self.first {
            Some(string)
        } else {
            None
        }
    }

    /// Whether the value is a number.
    pub(crate) fn is_number(self) -> bool {
        matches!(self.first, Token::Number(_))
    }

    /// The elements in order, or `None` for a value of another type than an array.
    pub fn as_array(self) -> Option<impl Iterator<Item = Value<'a>>> {
        let mut tokens = Tokens::inside(self.text);
        matches!(self.first, Token::BeginArray)
            .then(|| std::iter::from_fn(move || tokens.next_value()))
    }

    /// The names and values of an object in order. Unlike [`Self::as_object`], this checks no name.
    pub(crate) fn raw_fields(self) -> impl Iterator<Item = (RawString<'a>, Value<'a>)> {
        let mut tokens = Tokens::inside(self.text);
        std::iter::from_fn(move || tokens.next_field())
    }

    /// The tokens of the value.
    pub fn tokens(self) -> Tokens<'a> {
        Tokens::new(self.text)
    }
}

impl<'a> Tokens<'a> {
    /// The next value of an array, or `None` at its end.
    pub(super) fn next_value(&mut self) -> Option<Value<'a>> {
        let first = self.next_element()?;
        let text = self.finish_value(first);
        Some(Value { first, text })
    }

    /// The name and the value of the next field of an object, or `None` at its end.
    pub(super) fn next_field(&mut self) -> Option<(RawString<'a>, Value<'a>)> {
        let name = self.next_name()?;
        let value = self.next_value().expect(CHECKED);
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_that_is_no_number_in_json_is_named() {
        for (text, place) in [
            (r#"{"price":NaN}"#, (1, 10)),
            ("{\n \"price\": Infinity}", (2, 11)),
            (r#"{"price":-Infinity}"#, (1, 11)),
            ("[\"é\",NaN]", (1, 7)),
        ] {
            let error = JsonText::parse(text).unwrap_err();
            let expected = "NaN or Infinity, which JSON does not have (send null)";
            assert_eq!(
                (error.reason.as_str(), (error.line, error.column)),
                (expected, place)
            );
        }
        let error = JsonText::parse(r#"{"price":Name}"#).unwrap_err();
        assert_eq!(error.reason, "expected value");
    }
}
