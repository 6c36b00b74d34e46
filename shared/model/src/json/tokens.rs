//! The tokens of a text whose JSON syntax was checked. It is not checked a second time.

use super::string::{CHECKED, RawString, after_string};

/// One token. Commas, colons and white space are skipped.
#[derive(Clone, Copy, Debug)]
pub enum Token<'a> {
    /// `{`: names (strings) and values follow in turn until [`Token::End`].
    BeginObject,
    /// `[`: values follow until [`Token::End`].
    BeginArray,
    /// `}` or `]`: the end of the object or the array that began last.
    End,
    /// A string, or the name of a field.
    String(RawString<'a>),
    /// A number, as it was sent.
    Number(&'a str),
    /// The literal `true` or `false`.
    Bool(bool),
    /// The literal `null`.
    Null,
}

/// A position in a text of valid JSON, moving from token to token.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    text: &'a str,
    /// Where the last token starts, in bytes.
    start: usize,
    /// Where the last token ends, in bytes.
    end: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens of `text`, which must be JSON.
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            start: 0,
            end: 0,
        }
    }

    /// The tokens inside an object or an array. `text` is all of it.
    pub(super) fn inside(text: &'a str) -> Self {
        Self {
            text,
            start: 0,
            end: 1,
        }
    }

    /// The next token, where the syntax requires one.
    pub(crate) fn next_token(&mut self) -> Token<'a> {
        self.next().expect(CHECKED)
    }

    /// The first token of the next value, or `None` at the end of an array.
    pub fn next_element(&mut self) -> Option<Token<'a>> {
        self.next().filter(|token| !matches!(token, Token::End))
    }

    /// The name of the next field of an object, or `None` at its end.
    pub fn next_name(&mut self) -> Option<RawString<'a>> {
        if let Some(Token::String(name)) = self.next() {
            Some(name)
        } else {
            None
        }
    }

    /// Passes over the rest of the value that `first`, the last token, began, and returns its whole
    /// text.
    pub fn finish_value(&mut self, first: Token<'a>) -> &'a str {
        let start = self.start;
        if matches!(first, Token::BeginObject | Token::BeginArray) {
            self.end = self.text.len() - after_container(self.rest()).len();
        }
        self.text.get(start..self.end).expect(CHECKED)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.end..).expect(CHECKED)
    }

    /// The text of `length` bytes from the start of the token that is being read.
    fn slice(&self, length: usize) -> &'a str {
        self.text
            .get(self.start..self.start + length)
            .expect(CHECKED)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let skipped = rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':'))?;
        let (first, after) = rest.get(skipped..)?.split_first()?;
        self.start = self.end + skipped;
        let (token, length) = match first {
            b'{' => (Token::BeginObject, 1),
            b'[' => (Token::BeginArray, 1),
            b'}' | b']' => (Token::End, 1),
            b't' => (Token::Bool(true), 4),
            b'f' => (Token::Bool(false), 5),
            b'n' => (Token::Null, 4),
            b'"' => {
                let (rest, escaped) = after_string(after);
                let length = after.len() - rest.len() + 1;
                (
                    Token::String(RawString {
                        quoted: self.slice(length),
                        escaped,
                    }),
                    length,
                )
            }
            _ => {
                let more = after.iter().take_while(|byte| {
                    matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')
                });
                let length = more.count() + 1;
                (Token::Number(self.slice(length)), length)
            }
        };
        self.end = self.start + length;
        Some(token)
    }
}

/// What follows the object or the array that `inside` is in, right after the bracket that opened
/// it.
fn after_container(inside: &[u8]) -> &[u8] {
    let mut depth = 1_usize;
    let mut rest = inside;
    while depth > 0 {
        let (byte, after) = rest.split_first().expect(CHECKED);
        rest = after;
        match byte {
            b'"' => rest = after_string(after).0,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    rest
}

#[cfg(test)]
mod tests;
