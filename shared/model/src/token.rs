//! The tokens of a text that is known to be JSON.
//!
//! A general JSON reader decides too early for this service: it makes floats of numbers, keeps one of two members with
//! the same name, and gives up on the whole text for half a surrogate pair in one string. Here a token is a piece of the
//! text as it was sent, and whoever reads it decides. Syntax is not checked a second time: [`JsonText::parse`] is the
//! only way to a [`Tokens`], and it has `serde_json` check every byte first (without recursion, so that no nesting is
//! too deep for it).

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::document::Document;

/// A text that is one JSON value (RFC 8259), checked.
#[derive(Clone, Copy, Debug)]
pub struct JsonText<'a>(&'a str);

/// Why a text is not JSON: what the reader missed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJson {
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
    /// [`NotJson`] with the first place where it is not.
    pub fn parse(text: &'a str) -> Result<Self, NotJson> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => Ok(Self(raw.get())),
            Err(error) => {
                let sentence = error.to_string();
                let reason = sentence.split(" at line ").next().unwrap_or_default();
                Err(NotJson { reason: reason.to_owned(), line: error.line(), column: error.column() })
            }
        }
    }

    /// The text, without the white space around it.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Its tokens, from the first.
    #[must_use]
    pub fn tokens(self) -> Tokens<'a> {
        Tokens { text: self.0, at: 0 }
    }
}

/// One token. Commas, colons and white space carry nothing once the syntax is known to be right, so they have none.
#[derive(Clone, Copy, Debug)]
pub enum Token<'a> {
    /// `{`: names (strings) and values follow in turn until [`Token::EndObject`].
    BeginObject,
    /// `}`
    EndObject,
    /// `[`: values follow until [`Token::EndArray`].
    BeginArray,
    /// `]`
    EndArray,
    /// A string, or the name of a member.
    String(RawString<'a>),
    /// A number, as it was written.
    Number(&'a str),
    /// `true` or `false`
    Bool(bool),
    /// `null`
    Null,
}

/// A string between its quotes, as it was written.
#[derive(Clone, Copy, Debug)]
pub struct RawString<'a> {
    quoted: &'a str,
    escaped: bool,
}

/// A string with half a surrogate pair in it: JSON by its grammar, but no Unicode text (RFC 8259, section 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoneSurrogate;

impl<'a> RawString<'a> {
    /// The string itself, its escapes resolved.
    ///
    /// # Errors
    /// [`LoneSurrogate`] where the escapes name no Unicode text.
    pub fn decode(self) -> Result<Cow<'a, str>, LoneSurrogate> {
        if self.escaped {
            serde_json::from_str::<String>(self.quoted).map(Cow::Owned).map_err(|_| LoneSurrogate)
        } else {
            Ok(Cow::Borrowed(self.inner()))
        }
    }

    /// The string as JSON, quotes included.
    #[must_use]
    pub fn quoted(self) -> &'a str {
        self.quoted
    }

    fn inner(self) -> &'a str {
        self.quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
    }
}

/// A place in a text that is known to be JSON, moving from token to token.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens of a document, which is JSON by what it is.
    pub(crate) fn of(document: Document<'a>) -> Self {
        Self { text: document.as_str(), at: 0 }
    }

    /// The next token, or `None` at the end of the text.
    #[expect(
        clippy::should_implement_trait,
        reason = "the borrow ends with each token, so that values can be passed on"
    )]
    pub fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let skipped = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':'))?;
        let (first, after) = rest.get(skipped..)?.split_first()?;
        self.advance(skipped);
        let (token, length) = match first {
            b'{' => (Token::BeginObject, 1),
            b'}' => (Token::EndObject, 1),
            b'[' => (Token::BeginArray, 1),
            b']' => (Token::EndArray, 1),
            b't' => (Token::Bool(true), 4),
            b'f' => (Token::Bool(false), 5),
            b'n' => (Token::Null, 4),
            b'"' => {
                let (inner, escaped) = string_length(after);
                let length = inner.saturating_add(2);
                (Token::String(RawString { quoted: self.piece(length), escaped }), length)
            }
            _ => {
                let more =
                    after.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
                let length = more.count().saturating_add(1);
                (Token::Number(self.piece(length)), length)
            }
        };
        self.advance(length);
        Some(token)
    }

    /// The next token of an array, or `None` at its end.
    pub fn next_element(&mut self) -> Option<Token<'a>> {
        self.next().filter(|token| !matches!(token, Token::EndArray))
    }

    /// The name of the next member of an object, or `None` at its end.
    pub fn next_name(&mut self) -> Option<RawString<'a>> {
        match self.next()? {
            Token::String(name) => Some(name),
            _ => None,
        }
    }

    /// Passes over the rest of the value that `first` began.
    pub fn skip(&mut self, first: Token<'a>) {
        let mut open = depth_change(first);
        while open > 0 {
            let Some(token) = self.next() else { return };
            open = open.saturating_add(depth_change(token));
        }
    }

    /// Passes over the rest of the value that `first` began, and gives its whole text.
    pub fn text_of(&mut self, first: Token<'a>) -> &'a str {
        let begin = self.begin_of(first);
        self.skip(first);
        self.since(begin)
    }

    /// Where `token` begins, if it is the one that was read last.
    pub(crate) fn begin_of(&self, token: Token<'a>) -> usize {
        let length = match token {
            Token::String(string) => string.quoted.len(),
            Token::Number(number) => number.len(),
            Token::Bool(true) | Token::Null => "true".len(),
            Token::Bool(false) => "false".len(),
            Token::BeginObject | Token::EndObject | Token::BeginArray | Token::EndArray => 1,
        };
        self.at.saturating_sub(length)
    }

    /// The text from `begin` to where the reading has come.
    pub(crate) fn since(&self, begin: usize) -> &'a str {
        self.text.get(begin..self.at).unwrap_or_default()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn piece(&self, length: usize) -> &'a str {
        self.text.get(self.at..self.at.saturating_add(length)).unwrap_or_default()
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }
}

fn depth_change(token: Token<'_>) -> isize {
    match token {
        Token::BeginObject | Token::BeginArray => 1,
        Token::EndObject | Token::EndArray => -1,
        _ => 0,
    }
}

/// The bytes up to the closing quote, and whether an escape is among them.
fn string_length(after_quote: &[u8]) -> (usize, bool) {
    let mut escaped = false;
    let mut at = 0_usize;
    while let Some(rest) = after_quote.get(at..) {
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) if rest.get(found) == Some(&b'\\') => {
                escaped = true;
                at = at.saturating_add(found).saturating_add(2);
            }
            Some(found) => return (at.saturating_add(found), escaped),
            None => break,
        }
    }
    (after_quote.len(), escaped)
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
