//! The `requestIdentifier` of a signal whose line has none. It is made of the line, so each import of the
//! line makes the same key. Must not know how a signal is stored.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use model::account::AccountId;
use model::digest::Digest;
use model::identifier::RequestIdentifier;
use uuid::Builder;

use super::line::ParsedLine;

/// The bits of the identifier that hold the number of the line, so that signals with the same time
/// stay in the order of the file.
const NUMBER_BITS: u32 = 48;

/// The characters of an identifier that only the number of the line decides, with the hyphens.
const NUMBER_CHARS: usize = "01234567-89ab-".len();

/// Makes the identifiers of one source, line by line in the order of the file. It keeps the hash of each
/// different line, in 19 to 39 bytes.
pub(super) struct LineKeys<'a> {
    account: &'a AccountId,
    source: Cow<'a, str>,
    hasher: RandomState,
    /// How often each line came so far, by its hash.
    counts: HashMap<u64, u32>,
}

impl<'a> LineKeys<'a> {
    pub(super) fn new(account: &'a AccountId, source: Cow<'a, str>) -> Self {
        Self {
            account,
            source,
            hasher: RandomState::new(),
            counts: HashMap::new(),
        }
    }

    /// Counts a line that the import leaves out.
    pub(super) fn leave_out(&mut self, text: &str) {
        self.count(text);
    }

    /// A UUID of version 8 (RFC 9562): the number of the line in the first 48 bits, and in the others a
    /// hash that identifies the line.
    pub(super) fn identifier(&mut self, line: &ParsedLine<'_>) -> RequestIdentifier {
        let time = line.time.to_string();
        let equal_lines = self.count(line.text).to_string();
        let account = self.account.as_str();
        let hashed = [account, &self.source, &time, &equal_lines, line.text];
        let digest = Digest::sha256_of_texts(hashed).to_hex();
        let hash = digest
            .get(..32)
            .and_then(|hex| u128::from_str_radix(hex, 16).ok())
            .expect("a SHA-256 digest has 64 hexadecimal digits");
        let rest = u128::MAX >> NUMBER_BITS;
        let number = u128::from(line.number) << (u128::BITS - NUMBER_BITS);
        let bytes = (number | (hash & rest)).to_be_bytes();
        let uuid = Builder::from_custom_bytes(bytes).into_uuid();
        RequestIdentifier::parse(uuid).expect("a UUID is written with hyphens")
    }

    /// Counts a line, and says how many equal ones came before it.
    fn count(&mut self, text: &str) -> u32 {
        let count = self.counts.entry(self.hasher.hash_one(text)).or_default();
        let before = *count;
        *count = before.saturating_add(1);
        before
    }
}

/// What the end of a sort key, after the time, has of a line beside its number.
pub(super) fn without_number(identifier_and_index: &str) -> Option<&str> {
    identifier_and_index.get(NUMBER_CHARS..)
}

#[cfg(test)]
mod tests {
    use model::json::JsonText;
    use model::timestamp::Timestamp;

    use super::super::line::LineContent;
    use super::*;

    fn line(number: u64, text: &str) -> ParsedLine<'_> {
        ParsedLine {
            number,
            text,
            time: Timestamp::from_millis(1_795_214_024_123),
            content: LineContent::as_sent(JsonText::parse("{}").unwrap()),
        }
    }

    /// The identifier of a line after `before` equal ones.
    fn identifier(account: &str, source: &str, line: &ParsedLine<'_>, before: usize) -> String {
        let account = account.parse().unwrap();
        let mut keys = LineKeys::new(&account, source.into());
        for _ in 0..before {
            keys.leave_out(line.text);
        }
        keys.identifier(line).canonical()
    }

    #[test]
    fn identifier_begins_with_the_number_and_goes_on_with_what_the_line_is() {
        let first = identifier("shop", "a", &line(17, "x"), 0);
        assert_eq!(first.get(..15), Some("00000000-0011-8"));
        let moved = identifier("shop", "a", &line(18, "x"), 0);
        assert!(moved > first);
        assert_eq!(without_number(&moved), without_number(&first));
        for another in [
            identifier("other", "a", &line(17, "x"), 0),
            identifier("shop", "b", &line(17, "x"), 0),
            identifier("shop", "a", &line(17, "y"), 0),
            identifier("shop", "a", &line(17, "x"), 1),
        ] {
            assert_ne!(without_number(&another), without_number(&first));
        }
    }

    #[test]
    fn equal_lines_have_identifiers_by_their_count_whichever_come_between() {
        let account = "shop".parse().unwrap();
        let mut keys = LineKeys::new(&account, "a".into());
        keys.leave_out("x");
        keys.identifier(&line(2, "y"));
        for before in 1..4 {
            let identifier_of_next = keys.identifier(&line(17, "x")).canonical();
            assert_eq!(
                identifier_of_next,
                identifier("shop", "a", &line(17, "x"), before)
            );
        }
    }
}
