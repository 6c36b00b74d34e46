//! A JSON string as it was sent, and decoded.

use std::borrow::Cow;

use memchr::memchr2;

use crate::validation::{FieldErrorCode, Violation};

/// Why reading on cannot fail: `serde_json` checked the syntax of the whole text.
pub(super) const CHECKED: &str = "the JSON syntax was checked";

/// A string as it was sent, quotes included.
#[derive(Clone, Copy, Debug)]
pub struct RawString<'a> {
    pub(super) quoted: &'a str,
    /// Whether there are escapes in it.
    pub(super) escaped: bool,
}

/// A string with an unpaired surrogate: valid JSON, but not valid Unicode (RFC 8259, section 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpairedSurrogate;

impl<'a> RawString<'a> {
    /// The string itself, its escapes resolved.
    ///
    /// # Errors
    /// [`UnpairedSurrogate`] when the escapes are not valid Unicode.
    pub fn decode(self) -> Result<Cow<'a, str>, UnpairedSurrogate> {
        if self.escaped {
            serde_json::from_str::<String>(self.quoted)
                .map(Cow::Owned)
                .map_err(|_| UnpairedSurrogate)
        } else {
            let inner = self
                .quoted
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            Ok(Cow::Borrowed(inner.expect("the token includes the quotes")))
        }
    }

    /// The string as JSON, quotes included.
    pub fn quoted(self) -> &'a str {
        self.quoted
    }
}

/// What follows the closing quote of a string, and whether there are escapes in the string.
pub(super) fn after_string(after_quote: &[u8]) -> (&[u8], bool) {
    let mut escaped = false;
    let mut rest = after_quote;
    loop {
        let found = memchr2(b'"', b'\\', rest).and_then(|at| rest.get(at..)?.split_first());
        let (byte, after) = found.expect(CHECKED);
        if *byte == b'"' {
            return (after, escaped);
        }
        escaped = true;
        rest = after.get(1..).expect(CHECKED);
    }
}

impl From<UnpairedSurrogate> for Violation {
    fn from(_: UnpairedSurrogate) -> Self {
        Self::new(
            FieldErrorCode::InvalidType,
            "must be valid Unicode (unpaired surrogate)",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_ends_at_its_first_quote_without_a_backslash() {
        let fillers: [&str; 4] = ["x", "!", "\u{a3}", "[#]\u{22a2}"];
        for filler in fillers {
            for before in 0..20 {
                for after in 0..20 {
                    let (before, after) = (filler.repeat(before), filler.repeat(after));
                    let plain = format!("{before}\"{after}");
                    assert_eq!(
                        after_string(plain.as_bytes()),
                        (after.as_bytes(), false),
                        "{plain}"
                    );
                    let escaped = format!(r#"{before}\"{before}\\"{after}"#);
                    assert_eq!(
                        after_string(escaped.as_bytes()),
                        (after.as_bytes(), true),
                        "{escaped}"
                    );
                }
            }
        }
    }
}
