//! One JSON value, read no further than to its type.

use super::lexer::{Lexer, Token};
use super::object::Object;
use super::string::RawString;

/// A JSON value of which the syntax is known to be right.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(&'a str),
    /// A string, as it was written.
    String(RawString<'a>),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

/// The text of a JSON array.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a>(&'a str);

impl<'a> Value<'a> {
    /// The value that `first` begins, with its whole text.
    pub(super) fn new(first: Token<'a>, text: &'a str) -> Self {
        match first {
            Token::BeginObject => Self::Object(Object(text)),
            Token::BeginArray => Self::Array(Array(text)),
            Token::String(string) => Self::String(string),
            Token::Number(number) => Self::Number(number),
            Token::Bool(bool) => Self::Bool(bool),
            Token::Null | Token::EndObject | Token::EndArray => Self::Null,
        }
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text, as it was sent.
    #[must_use]
    pub fn text(self) -> &'a str {
        match self {
            Self::Null => "null",
            Self::Bool(true) => "true",
            Self::Bool(false) => "false",
            Self::String(string) => string.quoted(),
            Self::Number(text) | Self::Array(Array(text)) | Self::Object(Object(text)) => text,
        }
    }
}

impl<'a> Array<'a> {
    /// Its elements, in order.
    pub fn elements(self) -> impl Iterator<Item = Value<'a>> {
        let mut lexer = Lexer::new(self.0);
        // The bracket.
        lexer.next();
        std::iter::from_fn(move || lexer.next_value())
    }
}
