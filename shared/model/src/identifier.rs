//! The identifiers that callers choose, and the rules that they obey (SPEC 2.3).

use std::borrow::Cow;

use uuid::Uuid;

use crate::fault::{FaultCode, Faults};
use crate::limits::IDENTIFIER_CHARS;
use crate::place::Path;
use crate::token::{Token, Tokens};

/// What a program writes for "nothing" when nobody looked: no customer and no emitter is called so.
const PLACEHOLDERS: [&str; 6] = ["null", "undefined", "none", "nan", "nil", "[object Object]"];

/// Whether an identifier may spell out "nothing": customerId and emitterId may not, eventType and stepNodeId may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholders {
    /// A placeholder is a fault.
    Refused,
    /// It is a text like any other.
    Allowed,
}

/// Reads the identifier that `token` begins. `None` when it is null, or when a fault was added.
pub(crate) fn read_identifier<'a>(
    token: Token<'a>,
    tokens: &mut Tokens<'a>,
    placeholders: Placeholders,
    path: &Path<'_>,
    faults: &mut Faults,
) -> Option<Cow<'a, str>> {
    let text = read_string(token, tokens, path, faults)?;
    let chars = text.chars().count();
    if text.trim().is_empty() {
        faults.add(path, FaultCode::Blank, "must not be blank");
    } else if chars > IDENTIFIER_CHARS {
        let message = format!("must have at most {IDENTIFIER_CHARS} characters; {chars} were sent");
        faults.add(path, FaultCode::TooLong, message);
    } else if placeholders == Placeholders::Refused && PLACEHOLDERS.iter().any(|word| word.eq_ignore_ascii_case(&text))
    {
        faults.add(path, FaultCode::PlaceholderIdentifier, "must identify somebody: a spelled-out nothing was sent");
    } else {
        return Some(text);
    }
    None
}

/// Reads the UUID that `token` begins, to be kept as it was written. `None` when it is null or was a fault.
pub(crate) fn read_uuid<'a>(
    token: Token<'a>,
    tokens: &mut Tokens<'a>,
    path: &Path<'_>,
    faults: &mut Faults,
) -> Option<UuidText<'a>> {
    let text = read_string(token, tokens, path, faults)?;
    let uuid = UuidText::parse(text);
    if uuid.is_none() {
        faults.add(path, FaultCode::InvalidUuid, "must be a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6");
    }
    uuid
}

fn read_string<'a>(
    token: Token<'a>,
    tokens: &mut Tokens<'a>,
    path: &Path<'_>,
    faults: &mut Faults,
) -> Option<Cow<'a, str>> {
    match token {
        Token::Null => None,
        Token::String(string) => {
            let decoded = string.decode();
            if decoded.is_err() {
                faults.add(path, FaultCode::InvalidType, LONE_SURROGATE);
            }
            decoded.ok()
        }
        other => {
            tokens.skip(other);
            faults.add(path, FaultCode::InvalidType, "must be a string");
            None
        }
    }
}

/// The message of a string that is no text.
pub(crate) const LONE_SURROGATE: &str = "must be Unicode text: half of a surrogate pair was sent";

/// A UUID, as somebody wrote it and as a number.
#[derive(Clone, Debug)]
pub struct UuidText<'a> {
    text: Cow<'a, str>,
    uuid: Uuid,
}

impl<'a> UuidText<'a> {
    /// Reads the hyphenated form, in either case (RFC 9562, section 4); no other form is one.
    #[must_use]
    pub fn parse(text: impl Into<Cow<'a, str>>) -> Option<Self> {
        let text = text.into();
        let hyphenated = text.len() == uuid::fmt::Hyphenated::LENGTH;
        let uuid = Uuid::try_parse(&text).ok().filter(|_| hyphenated)?;
        Some(Self { text, uuid })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Identifies a request (SPEC 1.2): the caller's, or one made here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestIdentifier {
    as_sent: String,
    uuid: Uuid,
}

impl RequestIdentifier {
    /// One that nobody has used.
    #[must_use]
    pub fn random() -> Self {
        let uuid = Uuid::new_v4();
        Self { as_sent: uuid.to_string(), uuid }
    }

    /// As the caller wrote it: what answers repeat.
    #[must_use]
    pub fn as_sent(&self) -> &str {
        &self.as_sent
    }

    /// In lower case: what keys are made of, so that one identifier has one key.
    #[must_use]
    pub fn canonical(&self) -> String {
        self.uuid.to_string()
    }
}

impl From<UuidText<'_>> for RequestIdentifier {
    fn from(text: UuidText<'_>) -> Self {
        Self { as_sent: text.text.into_owned(), uuid: text.uuid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::JsonText;

    fn code_of(json: &str, placeholders: Placeholders) -> Option<FaultCode> {
        let mut tokens = JsonText::parse(json).unwrap().tokens();
        let token = tokens.next().unwrap();
        let mut faults = Faults::keeping(5);
        let read = read_identifier(token, &mut tokens, placeholders, &Path::Root, &mut faults);
        let code = faults.into_kept().first().map(|fault| fault.code);
        assert_eq!(read.is_some(), code.is_none(), "{json}");
        code
    }

    #[test]
    fn an_identifier_is_text_of_1_to_256_characters_that_names_somebody() {
        assert_eq!(code_of("\" ada \"", Placeholders::Refused), None);
        assert_eq!(code_of(&format!("\"{}\"", "é".repeat(256)), Placeholders::Refused), None);
        assert_eq!(code_of(&format!("\"{}\"", "é".repeat(257)), Placeholders::Refused), Some(FaultCode::TooLong));
        assert_eq!(code_of("\"\"", Placeholders::Refused), Some(FaultCode::Blank));
        assert_eq!(code_of("\" \\t\\u00a0\"", Placeholders::Refused), Some(FaultCode::Blank));
        assert_eq!(code_of("17", Placeholders::Refused), Some(FaultCode::InvalidType));
        assert_eq!(code_of("[\"a\"]", Placeholders::Refused), Some(FaultCode::InvalidType));
        assert_eq!(code_of("\"\\ud800\"", Placeholders::Refused), Some(FaultCode::InvalidType));
    }

    #[test]
    fn a_spelled_out_nothing_names_nobody_but_may_be_an_event() {
        for word in ["null", "NULL", "Undefined", "none", "NaN", "nil", "[object Object]", "[OBJECT object]"] {
            assert_eq!(code_of(&format!("\"{word}\""), Placeholders::Refused), Some(FaultCode::PlaceholderIdentifier));
            assert_eq!(code_of(&format!("\"{word}\""), Placeholders::Allowed), None);
        }
        assert_eq!(code_of("\"nullable\"", Placeholders::Refused), None);
    }

    #[test]
    fn only_the_hyphenated_form_is_a_uuid() {
        assert!(UuidText::parse("3FA85F64-5717-4562-b3fc-2c963f66afa6").is_some());
        for other in [
            "3fa85f6457174562b3fc2c963f66afa6",
            "{3fa85f64-5717-4562-b3fc-2c963f66afa6}",
            "urn:uuid:3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "3fa85f64-5717-4562-b3fc-2c963f66afag",
            "",
        ] {
            assert!(UuidText::parse(other).is_none(), "{other}");
        }
    }
}
