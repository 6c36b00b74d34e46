//! The identifiers that clients choose, and their rules.

use std::borrow::Cow;

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use uuid::Uuid;

use crate::json::Value;
use crate::limits::MAX_IDENTIFIER_CHARS;
use crate::validation::{FieldErrorCode, Violation};

/// What programs write where they have no identifier: Go writes `<nil>`, C and Objective-C
/// `(null)`. No customer and no emitter may have one of these as its identifier.
const PLACEHOLDERS: [&str; 9] = [
    "null",
    "undefined",
    "none",
    "nan",
    "nil",
    "[object Object]",
    "<nil>",
    "(null)",
    "<null>",
];

/// Which rules an identifier must keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IdentifierRules {
    /// All rules (docs/api.md, Field errors): the signal or the update arrives now.
    #[default]
    Arriving,
    /// An earlier version, which had fewer rules, may have accepted the signal or the update. So
    /// there are no placeholders, and only white space is blank.
    Accepted,
}

/// Reads the identifier of a customer or an emitter: an identifier that is not a placeholder.
pub(crate) fn read_subject_id(
    value: Value<'_>,
    rules: IdentifierRules,
) -> Result<Cow<'_, str>, Violation> {
    let text = read_identifier(value, rules)?;
    if rules == IdentifierRules::Arriving && is_placeholder(&text) {
        let message =
            "must be a real identifier, not a placeholder such as \"null\" or \"undefined\"";
        return Err(Violation::new(
            FieldErrorCode::PlaceholderIdentifier,
            message,
        ));
    }
    Ok(text)
}

/// Reads an identifier: 1 to 256 characters, of which one is visible.
pub(crate) fn read_identifier(
    value: Value<'_>,
    rules: IdentifierRules,
) -> Result<Cow<'_, str>, Violation> {
    let text = read_string(value)?;
    let chars = text.chars().count();
    let is_blank = match rules {
        IdentifierRules::Arriving => text.chars().all(is_invisible),
        IdentifierRules::Accepted => text.trim().is_empty(),
    };
    if is_blank {
        return Err(Violation::new(FieldErrorCode::Blank, "must not be blank"));
    }
    if chars > MAX_IDENTIFIER_CHARS {
        let message =
            format!("must have at most {MAX_IDENTIFIER_CHARS} characters; {chars} were sent");
        return Err(Violation::new(FieldErrorCode::TooLong, message));
    }
    Ok(text)
}

/// Whether a text stands for no customer and no emitter: it shows nothing, or is a placeholder.
pub fn is_blank_or_placeholder(text: &str) -> bool {
    text.chars().all(is_invisible) || is_placeholder(text)
}

fn is_placeholder(text: &str) -> bool {
    let text = text.trim_matches(is_invisible);
    PLACEHOLDERS
        .iter()
        .any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether a character shows nothing: white space, what Unicode lets programs ignore (UAX #44,
/// `Default_Ignorable_Code_Point`), or a Braille pattern without dots.
fn is_invisible(c: char) -> bool {
    const BRAILLE_BLANK: char = '\u{2800}';
    let is_ignorable = |c| CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c);
    c.is_whitespace() || (!c.is_ascii() && (c == BRAILLE_BLANK || is_ignorable(c)))
}

/// Reads a UUID, as it was sent.
pub(crate) fn read_uuid(value: Value<'_>) -> Result<Cow<'_, str>, Violation> {
    let text = read_string(value)?;
    parse_uuid(&text).ok_or_else(not_a_uuid)?;
    Ok(text)
}

fn not_a_uuid() -> Violation {
    let message = "must be a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6";
    Violation::new(FieldErrorCode::InvalidUuid, message)
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

    /// Reads the requestIdentifier of a request. The nil and the max UUID (RFC 9562, sections 5.9
    /// and 5.10) are what a program has that did not set one: unrelated requests would have the
    /// same.
    pub(crate) fn read(value: Value<'_>) -> Result<Self, Violation> {
        let text = read_string(value)?;
        let identifier = Self::parse(text).ok_or_else(not_a_uuid)?;
        if identifier.uuid.is_nil() || identifier.uuid.is_max() {
            let message =
                "must not be the nil or the max UUID: each request needs a UUID of its own";
            return Err(Violation::new(FieldErrorCode::InvalidUuid, message));
        }
        Ok(identifier)
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
        codes_by(IdentifierRules::Arriving, json)
    }

    fn codes_by(rules: IdentifierRules, json: &str) -> [Option<FieldErrorCode>; 2] {
        let value = JsonText::parse(json).unwrap().value();
        [read_identifier(value, rules), read_subject_id(value, rules)]
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
            "<nil>",
            "(null)",
            "<NULL>",
            "null ",
            "\\t(null)\\n",
            "\u{a0}undefined\u{200b}",
            "\u{feff}null",
        ] {
            assert_eq!(
                codes_of(&format!("\"{word}\"")),
                [None, Some(FieldErrorCode::PlaceholderIdentifier)]
            );
        }
        for name in ["nullable", "(nil)", "<none>", "null null", "<nil"] {
            assert_eq!(codes_of(&format!("\"{name}\"")), [None; 2]);
        }
    }

    #[test]
    fn identifier_of_invisible_characters_is_blank_and_one_beside_visible_ones_stays() {
        for invisible in [
            "\u{200b}",
            "\u{feff}",
            "\u{ad}",
            "\u{200d}\u{2060} ",
            "\u{3164}",
            "\u{115f}",
            "\u{2800}\u{2800}",
            "\u{e0041}",
            "\u{fe0f}",
        ] {
            assert_eq!(
                codes_of(&format!("\"{invisible}\"")),
                [Some(FieldErrorCode::Blank); 2],
                "{}",
                invisible.escape_unicode()
            );
        }
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        let persian = "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}";
        for visible in [family, persian, "\u{2801}", "a\u{200b}", "."] {
            assert_eq!(codes_of(&format!("\"{visible}\"")), [None; 2], "{visible}");
        }
    }

    #[test]
    fn identifier_that_an_earlier_version_accepted_stays_valid() {
        for earlier in ["<nil>", "(null)", "null ", "\u{200b}", "\u{2800}"] {
            let json = format!("\"{earlier}\"");
            assert_eq!(codes_by(IdentifierRules::Accepted, &json), [None; 2]);
        }
        for never in ["", " ", "\\t"] {
            let json = format!("\"{never}\"");
            assert_eq!(
                codes_by(IdentifierRules::Accepted, &json),
                [Some(FieldErrorCode::Blank); 2]
            );
        }
        let too_long = format!("\"{}\"", "x".repeat(257));
        assert_eq!(
            codes_by(IdentifierRules::Accepted, &too_long),
            [Some(FieldErrorCode::TooLong); 2]
        );
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
