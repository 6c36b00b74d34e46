//! The identifiers that clients choose, and their rules.

use std::borrow::Cow;

use uuid::Uuid;

use crate::json::Value;
use crate::limits::MAX_IDENTIFIER_CHARS;
use crate::validation::{FieldErrorCode, Violation};

/// What programs write where they have no identifier. No customer and no emitter may have one of
/// these as its identifier.
const PLACEHOLDERS: [&str; 6] = ["null", "undefined", "none", "nan", "nil", "[object Object]"];

/// Reads the identifier of a customer or an emitter: an identifier that is not a placeholder.
pub(crate) fn read_subject_id(value: Value<'_>) -> Result<Cow<'_, str>, Violation> {
    let text = read_identifier(value)?;
    if PLACEHOLDERS
        .iter()
        .any(|word| word.eq_ignore_ascii_case(&text))
    {
        let message =
            "must be a real identifier, not a placeholder such as \"null\" or \"undefined\"";
        return Err(Violation::new(
            FieldErrorCode::PlaceholderIdentifier,
            message,
        ));
    }
    Ok(text)
}

/// Reads an identifier: 1 to 256 characters that are not all white space.
pub(crate) fn read_identifier(value: Value<'_>) -> Result<Cow<'_, str>, Violation> {
    let text = read_string(value)?;
    let chars = text.chars().count();
    if text.trim().is_empty() {
        return Err(Violation::new(FieldErrorCode::Blank, "must not be blank"));
    }
    if chars > MAX_IDENTIFIER_CHARS {
        let message =
            format!("must have at most {MAX_IDENTIFIER_CHARS} characters; {chars} were sent");
        return Err(Violation::new(FieldErrorCode::TooLong, message));
    }
    Ok(text)
}

/// Reads a UUID, as it was sent.
pub(crate) fn read_uuid(value: Value<'_>) -> Result<Cow<'_, str>, Violation> {
    let text = read_string(value)?;
    let message = "must be a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6";
    parse_uuid(&text).ok_or_else(|| Violation::new(FieldErrorCode::InvalidUuid, message))?;
    Ok(text)
}

/// Parses the hyphenated form, in either case (RFC 9562, section 4), and no other form.
fn parse_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text)
        .ok()
        .filter(|_| text.len() == uuid::fmt::Hyphenated::LENGTH)
}

fn read_string(value: Value<'_>) -> Result<Cow<'_, str>, Violation> {
    let string = value
        .as_string()
        .ok_or_else(|| Violation::new(FieldErrorCode::InvalidType, "must be a string"))?;
    Ok(string.decode()?)
}

/// Identifies a request: sent by the client, or generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestIdentifier {
    as_sent: String,
    uuid: Uuid,
}

impl RequestIdentifier {
    /// Parses a UUID in its hyphenated form.
    pub fn parse(text: impl Into<String>) -> Option<Self> {
        let as_sent = text.into();
        let uuid = parse_uuid(&as_sent)?;
        Some(Self { as_sent, uuid })
    }

    /// Generates a random UUID (version 4).
    pub fn random() -> Self {
        let uuid = Uuid::new_v4();
        Self {
            as_sent: uuid.to_string(),
            uuid,
        }
    }

    /// The text that the client sent, which responses repeat.
    pub fn as_sent(&self) -> &str {
        &self.as_sent
    }

    /// The UUID in lower case, for the keys of items: identifiers that differ only in case are the
    /// same one.
    pub fn canonical(&self) -> String {
        self.uuid.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonText;

    /// The codes of the errors of an identifier, and of one of a customer or an emitter.
    fn codes_of(json: &str) -> [Option<FieldErrorCode>; 2] {
        let value = JsonText::parse(json).unwrap().value();
        [read_identifier(value), read_subject_id(value)]
            .map(|read| read.err().map(|violation| violation.code))
    }

    #[test]
    fn identifier_has_1_to_256_characters_and_is_not_blank() {
        assert_eq!(codes_of("\" ada \""), [None; 2]);
        assert_eq!(codes_of(&format!("\"{}\"", "é".repeat(256))), [None; 2]);
        assert_eq!(
            codes_of(&format!("\"{}\"", "é".repeat(257))),
            [Some(FieldErrorCode::TooLong); 2]
        );
        assert_eq!(codes_of("\"\""), [Some(FieldErrorCode::Blank); 2]);
        assert_eq!(
            codes_of("\" \\t\\u00a0\""),
            [Some(FieldErrorCode::Blank); 2]
        );
        assert_eq!(codes_of("17"), [Some(FieldErrorCode::InvalidType); 2]);
        assert_eq!(codes_of("[\"a\"]"), [Some(FieldErrorCode::InvalidType); 2]);
        assert_eq!(
            codes_of("\"\\ud800\""),
            [Some(FieldErrorCode::InvalidType); 2]
        );
    }

    #[test]
    fn placeholder_is_no_customer_and_no_emitter() {
        for word in [
            "null",
            "NULL",
            "Undefined",
            "none",
            "NaN",
            "nil",
            "[object Object]",
            "[OBJECT object]",
        ] {
            assert_eq!(
                codes_of(&format!("\"{word}\"")),
                [None, Some(FieldErrorCode::PlaceholderIdentifier)]
            );
        }
        assert_eq!(codes_of("\"nullable\""), [None; 2]);
    }

    #[test]
    fn uuid_in_another_than_the_hyphenated_form_is_rejected() {
        assert!(RequestIdentifier::parse("3FA85F64-5717-4562-b3fc-2c963f66afa6").is_some());
        for other in [
            "3fa85f6457174562b3fc2c963f66afa6",
            "{3fa85f64-5717-4562-b3fc-2c963f66afa6}",
            "urn:uuid:3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "3fa85f64-5717-4562-b3fc-2c963f66afag",
            "",
        ] {
            assert!(RequestIdentifier::parse(other).is_none(), "{other}");
        }
    }
}
