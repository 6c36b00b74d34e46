//! Whether the payload of a rejected signal names a customer, an emitter or a type, in whatever form:
//! erasures and exports use the result. Must not know where payloads are stored.
//!
//! A payload broke a rule, so its id may be a number, have white space around it, be inside an array
//! or an object, be under the member of the other shape, under a misspelled one, or appear twice. What
//! the payload has under such a member is [`SubjectMatch::Certain`]. As in a valid signal, what is in `data`
//! belongs to the subject of the signal, and names no other. Any other object inside a signal may name
//! another, such as the person who referred a customer: that one is [`SubjectMatch::Doubtful`].
//!
//! A payload may not say whose signal it is: it was cut when it was kept, because it is over 300 KiB, it
//! is no JSON object, or it has no such member with a value. When such a text has the id as a whole value
//! in any place, it is [`SubjectMatch::Doubtful`]. A number such as `1` is in nearly every text, and counts
//! only under a member that identifies.
//!
//! The text is read by a scanner of this module's own, since [`model::json`] reads only valid JSON, and
//! the rule must be the same for what was cut.

mod mentions;
mod pieces;

use model::json::JsonText;
use model::signal::intended_field;

use self::mentions::Mentions;

/// Numbers of fewer digits are in nearly every payload.
const MIN_DISTINCTIVE_DIGITS: usize = 4;

/// The most digits of a number that is compared with an id: no identifier is longer (docs/api.md,
/// Limits), and a few letters of an exponent may stand for millions of digits.
const MAX_DIGITS: i64 = 256;

/// Whom or what an operator looks for.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The customer or the emitter with this id.
    Subject(&'a str),
    /// The signals with this eventType or stepNodeId.
    Type(&'a str),
}

impl<'a> Wanted<'a> {
    /// The members that identify it.
    fn members(self) -> [&'static str; 2] {
        match self {
            Self::Subject(_) => ["customerId", "emitterId"],
            Self::Type(_) => ["eventType", "stepNodeId"],
        }
    }

    fn text(self) -> &'a str {
        match self {
            Self::Subject(text) | Self::Type(text) => text,
        }
    }

    /// How this payload of a rejected signal names it. `subject_id` is the valid customerId or emitterId
    /// that the function found in the whole of the signal.
    pub fn match_in(self, subject_id: Option<&str>, payload: &str) -> SubjectMatch {
        if let Self::Subject(id) = self
            && subject_id == Some(id)
        {
            return SubjectMatch::Certain;
        }
        let Ok(json) = JsonText::parse(payload) else {
            return self.match_in_broken(payload);
        };
        if !json.as_str().starts_with(['{', '[']) {
            // A client sent JSON in a string, or no JSON at all.
            let text = json.value().as_string().and_then(|text| text.decode().ok());
            return self.match_in_broken(text.as_deref().unwrap_or(payload));
        }
        let mentions = Mentions::find(self, payload);
        let is_array = json.as_str().starts_with('[');
        // A text that is the name of a type is in many signals of other types.
        let has_subject = mentions.has_subject || matches!(self, Self::Type(_));
        let says_whose = has_subject && !is_array;
        match mentions.under_members {
            SubjectMatch::Absent if !says_whose => self.match_by_text(&mentions),
            found => found,
        }
    }

    fn match_in_broken(self, text: &str) -> SubjectMatch {
        let mentions = Mentions::find(self, text);
        match mentions.under_members {
            SubjectMatch::Absent => self.match_by_text(&mentions),
            SubjectMatch::Doubtful | SubjectMatch::Certain => SubjectMatch::Doubtful,
        }
    }

    /// How a payload names it whose members do not say whose signal it is.
    fn match_by_text(self, mentions: &Mentions) -> SubjectMatch {
        if mentions.is_anywhere && self.is_distinctive() {
            SubjectMatch::Doubtful
        } else {
            SubjectMatch::Absent
        }
    }

    fn is_distinctive(self) -> bool {
        let text = self.text();
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        !is_number || text.len() >= MIN_DISTINCTIVE_DIGITS
    }

    /// Whether a member with this name identifies, in an object that is anywhere but in `data`.
    fn is_member(self, name: &str) -> bool {
        self.members().contains(&name)
    }

    fn is_misspelled_member(self, name: &str) -> bool {
        intended_field(name).is_some_and(|field| self.members().contains(&field))
    }

    /// Whether a string is the text, as it is or without the white space around it.
    fn is_text(self, value: &str) -> bool {
        value == self.text() || value.trim() == self.text()
    }

    /// Whether a word outside quotes is the text, as it is or as a number of the same value: `1001.0` and
    /// `1.001e3` have that of `1001`. A literal is no text.
    fn is_word(self, word: &str) -> bool {
        let is_literal = ["null", "true", "false"].contains(&word);
        let is_number = || plain_number(word).is_some_and(|number| number == self.text());
        !is_literal && (word == self.text() || is_number())
    }

    /// Whether the text begins with what is left of a value that was cut.
    fn begins_with(self, beginning: &str) -> bool {
        let beginning = beginning.trim_start();
        !beginning.is_empty() && self.text().starts_with(beginning)
    }
}

/// How a payload names whom or what an operator looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectMatch {
    /// Under a member that identifies.
    Certain,
    /// In the signal of another, or in one that does not say whose it is: an operator has to look at it.
    Doubtful,
    /// Not at all.
    Absent,
}

/// A JSON number without exponent and without a fraction of zeros, as programs print it.
fn plain_number(number: &str) -> Option<String> {
    let (coefficient, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (sign, magnitude) = coefficient
        .strip_prefix('-')
        .map_or(("", coefficient), |magnitude| ("-", magnitude));
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_decimal {
        return None;
    }
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    // How many of the significant digits are before the point; negative when zeros follow it.
    let leading_zeros = length(&digits) - length(significant);
    let point = length(whole)
        .checked_sub(leading_zeros)?
        .checked_add(exponent)?;
    if point.abs() > MAX_DIGITS {
        return None;
    }
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    let padded = format!(
        "{}{significant}{}",
        zeros(-point),
        zeros(point - length(significant))
    );
    let (whole, fraction) = padded.split_at(usize::try_from(point).unwrap_or_default());
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    let separator = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{separator}{fraction}"))
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).expect("no text in memory is longer")
}

#[cfg(test)]
mod tests;
