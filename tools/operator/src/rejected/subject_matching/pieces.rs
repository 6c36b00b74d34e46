//! The pieces of a JSON text that may be cut or broken. Must not know what a member means.

use std::borrow::Cow;

/// A piece of a JSON text. White space, commas and colons are between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// The beginning of an object or an array.
    Open,
    /// The end of an object or an array.
    Close,
    /// The name of a member: a colon follows.
    Name(Cow<'a, str>),
    /// A string that is a value, with its escapes resolved.
    String(Cow<'a, str>),
    /// A number or a literal, or what stands in its place.
    Word(&'a str),
    /// The beginning of a string or a word that the end of the text may have cut.
    Cut(Cow<'a, str>),
}

/// Reads any text to its end.
pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Takes the first `length` bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn string(&mut self) -> Piece<'a> {
        let Some(length) = length_of_string(self.rest) else {
            let cut = self.take(self.rest.len());
            return Piece::Cut(decode_cut(cut));
        };
        let quoted = self.take(length);
        let value = decode(quoted);
        if self.is_before_colon() {
            Piece::Name(value)
        } else {
            Piece::String(value)
        }
    }

    fn word(&mut self) -> Piece<'a> {
        let is_end = |c: char| is_separator(c) || matches!(c, '{' | '}' | '[' | ']' | '"');
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        let word = self.take(length);
        if self.rest.is_empty() {
            Piece::Cut(Cow::Borrowed(word))
        } else if self.is_before_colon() {
            Piece::Name(Cow::Borrowed(word))
        } else {
            Piece::Word(word)
        }
    }

    fn is_before_colon(&self) -> bool {
        self.rest.trim_start().starts_with(':')
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        self.rest = self.rest.trim_start_matches(is_separator);
        let first = self.rest.chars().next()?;
        Some(match first {
            '{' | '[' => {
                self.take(first.len_utf8());
                Piece::Open
            }
            '}' | ']' => {
                self.take(first.len_utf8());
                Piece::Close
            }
            '"' => self.string(),
            _ => self.word(),
        })
    }
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ':')
}

/// How many bytes the string has that begins with the quote before `text`'s second byte. `None` when
/// it does not end.
fn length_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Resolves the escapes of a string in quotes. One that is not valid Unicode stays as it was sent.
fn decode(quoted: &str) -> Cow<'_, str> {
    let inner = || quoted.trim_start_matches('"').trim_end_matches('"');
    if quoted.contains('\\') {
        serde_json::from_str(quoted).map_or_else(|_| Cow::Borrowed(inner()), Cow::Owned)
    } else {
        Cow::Borrowed(inner())
    }
}

/// Resolves the escapes of a string that has no closing quote. An escape that was cut is left out.
fn decode_cut(cut: &str) -> Cow<'_, str> {
    let whole = |text: &str| serde_json::from_str::<String>(&format!("{text}\"")).ok();
    let before_escape = cut.rfind('\\').and_then(|at| cut.get(..at));
    whole(cut)
        .or_else(|| whole(before_escape?))
        .map_or(Cow::Borrowed(cut), Cow::Owned)
}
