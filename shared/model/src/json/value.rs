//! One JSON value, read no further than to its type.

use super::lexer::{Lexer, Token};
use super::string::RawString;

/// A JSON value of which the syntax is known to be right.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    pub(super) first: Token<'a>,
    pub(super) text: &'a str,
}

impl<'a> Value<'a> {
    /// The text, as it was sent.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        matches!(self.first, Token::Null)
    }

    /// The string, if it is one.
    pub fn as_string(self) -> Option<RawString<'a>> {
        if let Token::String(string) = self.first { Some(string) } else { None }
    }

    /// Whether it is a number.
    pub(crate) fn is_number(self) -> bool {
        matches!(self.first, Token::Number(_))
    }

    /// The elements in order, if it is an array.
    pub fn as_array(self) -> Option<impl Iterator<Item = Value<'a>>> {
        let mut lexer = Lexer::inside(self.text);
        matches!(self.first, Token::BeginArray).then(|| std::iter::from_fn(move || lexer.next_value()))
    }

    /// The names and values in order, if it is an object. Unlike [`Self::as_object`], this checks no name.
    pub(crate) fn raw_fields(self) -> impl Iterator<Item = (RawString<'a>, Value<'a>)> {
        let mut lexer = Lexer::inside(self.text);
        std::iter::from_fn(move || Some((lexer.next_name()?, lexer.next_value()?)))
    }

    /// The tokens, from the first.
    pub fn lexer(self) -> Lexer<'a> {
        Lexer::new(self.text)
    }
}

impl<'a> Lexer<'a> {
    /// The next value of an object or an array, or `None` at the end of the array.
    pub(super) fn next_value(&mut self) -> Option<Value<'a>> {
        self.next_element().map(|first| Value { first, text: self.finish_value(first) })
    }
}
