//! A request body of which the syntax was checked.

use serde_json::value::RawValue;

use super::lexer::Lexer;
use super::value::Value;

/// A text that is one JSON value (RFC 8259), checked.
#[derive(Clone, Copy, Debug)]
pub struct JsonText<'a>(&'a str);

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonSyntaxError {
    /// What is wrong, in a few words without any of the text.
    pub reason: String,
    /// Counted from 1.
    pub line: usize,
    /// In bytes, counted from 1; 0 for an end of the text right after a line break.
    pub column: usize,
}

impl<'a> JsonText<'a> {
    /// Checks that `text` is one JSON value, with nothing but white space around it.
    ///
    /// # Errors
    /// [`JsonSyntaxError`] with the first place where it is not.
    pub fn parse(text: &'a str) -> Result<Self, JsonSyntaxError> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => Ok(Self(raw.get())),
            Err(error) => {
                let sentence = error.to_string();
                let reason = match sentence.split_once(" at line ") {
                    // JSON has none (RFC 8259, section 8.1). Editors do not show it.
                    _ if text.starts_with('\u{feff}') => "a byte order mark before the JSON",
                    Some((reason, _)) => reason,
                    None => &sentence,
                };
                Err(JsonSyntaxError { reason: reason.to_owned(), line: error.line(), column: error.column() })
            }
        }
    }

    /// The text, without the white space around it.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The value that the text is.
    pub fn value(self) -> Value<'a> {
        Value { first: Lexer::new(self.0).next().expect("a text that is JSON has a first token"), text: self.0 }
    }
}
