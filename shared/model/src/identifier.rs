//! The identifiers that clients choose, and their rules.

use std::borrow::Cow;

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use memchr::memchr3;
use uuid::Uuid;

use crate::json::{Field, Value};
use crate::limits::MAX_IDENTIFIER_CHARS;
use crate::validation::{FieldErrorCode, FieldErrors, Invalid, Violation, WarningCode, Warnings};

/// What programs write where they have no identifier: Go writes `<nil>`, C and Objective-C
/// `(null)`. No customer and no emitter may have one of these as its identifier.
pub const PLACEHOLDERS: [&str; 9] = [
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

/// What programs write for all customers whom they cannot tell apart. They are accepted, because
/// clients may rely on it.
pub const DOUBTFUL_WORDS: [&str; 10] = [
    "true",
    "false",
    "anonymous",
    "guest",
    "unknown",
    "n/a",
    "-1",
    "id",
    "email",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
];

/// What shows that a template or a format was not filled in.
pub const UNFILLED_PARTS: [&str; 5] = ["{{", "${", "<%", "%s", "%@"];

/// What an identifier identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdentifierKind {
    /// A customer or an emitter, whose identifier is not a placeholder.
    Subject,
    /// A type of event or a step of a workflow.
    Type,
}

/// A valid identifier.
#[derive(Debug)]
struct ReadIdentifier<'a> {
    text: Cow<'a, str>,
    doubt: Option<Doubt>,
}

/// Why a valid identifier may be a mistake of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// There is something invisible before or after it.
    Surrounded,
    /// Different customers probably have the same.
    Shared,
}

impl Doubt {
    fn code(self) -> WarningCode {
        match self {
            Self::Surrounded => WarningCode::SurroundingWhiteSpace,
            Self::Shared => WarningCode::DoubtfulIdentifier,
        }
    }

    fn predicate(self) -> &'static str {
        match self {
            Self::Surrounded => {
                "has white space or other invisible characters around it; it is stored with them, \
                 and is another identifier than without"
            }
            Self::Shared => {
                "looks like a placeholder or an unfilled template; all that is sent with it counts \
                 as one customer or one journey"
            }
        }
    }
}

/// Reads the identifier in `field`, and adds its error or its warning to the others.
pub(crate) fn check_identifier<'a>(
    field: &Field<'a, '_>,
    kind: IdentifierKind,
    errors: &mut FieldErrors,
    warnings: &mut Warnings,
) -> Result<Cow<'a, str>, Invalid> {
    let path = field.path();
    let read = read_identifier(field.value, kind);
    let identifier = errors.check(&path, read)?;
    if let Some(doubt) = identifier.doubt {
        warnings.add(&path, doubt.code(), || doubt.predicate());
    }
    Ok(identifier.text)
}

fn read_identifier(
    value: Value<'_>,
    kind: IdentifierKind,
) -> Result<ReadIdentifier<'_>, Violation> {
    let text = read_string(value)?;
    let doubt = judge(&text, kind)?;
    Ok(ReadIdentifier { text, doubt })
}

/// Decides which identifiers are refused, and which have a warning: the table of docs/api.md,
/// Identifiers.
fn judge(text: &str, kind: IdentifierKind) -> Result<Option<Doubt>, Violation> {
    let visible = text.trim_matches(is_invisible);
    require_visible(visible)?;
    require_short(text)?;
    if kind == IdentifierKind::Subject {
        if is_placeholder(visible) {
            let message =
                "must be a real identifier, not a placeholder such as \"null\" or \"undefined\"";
            let code = FieldErrorCode::PlaceholderIdentifier;
            return Err(Violation::new(code, message));
        }
        if is_probably_shared(visible) {
            return Ok(Some(Doubt::Shared));
        }
    }
    let is_surrounded = visible.len() < text.len();
    Ok(is_surrounded.then_some(Doubt::Surrounded))
}

/// Requires that something is left of an identifier without what is invisible around it.
fn require_visible(visible: &str) -> Result<(), Violation> {
    if visible.is_empty() {
        return Err(Violation::new(FieldErrorCode::Blank, "must not be blank"));
    }
    Ok(())
}

fn require_short(text: &str) -> Result<(), Violation> {
    let chars = text.chars().count();
    if chars > MAX_IDENTIFIER_CHARS {
        let message =
            format!("must have at most {MAX_IDENTIFIER_CHARS} characters; {chars} were sent");
        return Err(Violation::new(FieldErrorCode::TooLong, message));
    }
    Ok(())
}

/// Whether a text stands for no customer and no emitter: it shows nothing, or is a placeholder.
pub fn is_blank_or_placeholder(text: &str) -> bool {
    let visible = text.trim_matches(is_invisible);
    visible.is_empty() || is_placeholder(visible)
}

/// Whether a text without anything invisible around it is one of the words, in any case.
fn is_one_of(words: &[&str], visible: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(visible))
}

fn is_placeholder(visible: &str) -> bool {
    is_one_of(&PLACEHOLDERS, visible)
}

/// Whether different customers probably have this identifier. Phones that do not tell their
/// advertising id all tell the nil UUID.
fn is_probably_shared(visible: &str) -> bool {
    let is_zero = || visible.bytes().all(|byte| matches!(byte, b'0' | b'-'));
    is_one_of(&DOUBTFUL_WORDS, visible) || is_zero() || is_unfilled(visible)
}

fn is_unfilled(text: &str) -> bool {
    let may_be = memchr3(b'{', b'<', b'%', text.as_bytes()).is_some();
    may_be && UNFILLED_PARTS.iter().any(|part| text.contains(part))
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

/// Reads a string of any length.
pub(crate) fn read_string(value: Value<'_>) -> Result<Cow<'_, str>, Violation> {
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
        let value = JsonText::parse(json).unwrap().value();
        let read = |kind| read_identifier(value, kind);
        [IdentifierKind::Type, IdentifierKind::Subject]
            .map(|kind| read(kind).err().map(|violation| violation.code))
    }

    /// The warnings about an identifier that is valid, and about one of a customer or an emitter.
    fn doubts(identifier: &str) -> [Option<Doubt>; 2] {
        let json = format!("\"{identifier}\"");
        let value = JsonText::parse(&json).unwrap().value();
        let read = |kind| read_identifier(value, kind);
        [IdentifierKind::Type, IdentifierKind::Subject].map(|kind| read(kind).unwrap().doubt)
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
    fn identifier_that_different_customers_probably_share_has_a_warning() {
        for shared in [
            "true",
            "FALSE",
            "Anonymous",
            "0",
            "-",
            "00000000-0000-0000-0000-000000000000",
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            "{{ user.id }}",
            "user-${id}",
            "<%= id %>",
            "%s",
            "user-%s",
        ] {
            let expected = [None, Some(Doubt::Shared)];
            assert_eq!(doubts(shared), expected);
            let expected = [Some(Doubt::Surrounded), Some(Doubt::Shared)];
            let surrounded = format!(" {shared} ");
            assert_eq!(doubts(&surrounded), expected);
        }
        for own in [
            "10",
            "truely",
            "anonymous-7",
            "{3fa85f64-5717-4562-b3fc-2c963f66afa6}",
            "a%20b",
            "<a@example.com>",
            "guest-0",
        ] {
            assert_eq!(doubts(own), [None; 2], "{own}");
        }
    }

    #[test]
    fn identifier_with_something_invisible_around_it_has_a_warning() {
        for surrounded in [
            " c",
            "c ",
            "c\\n",
            "\u{a0}c",
            "c\u{200b}",
            "\u{feff}c\u{feff}",
        ] {
            let expected = [Some(Doubt::Surrounded); 2];
            assert_eq!(doubts(surrounded), expected);
        }
        assert_eq!(doubts("a b"), [None; 2]);
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
