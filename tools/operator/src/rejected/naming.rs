//! Whether the payload of a rejected signal names a customer, an emitter or a type, in whatever form:
//! what an erasure and an export go by. Must not know where payloads are stored.
//!
//! A payload broke a rule, so its id may be a number, have white space around it, be inside an array
//! or an object, be under the member of the other shape, under a misspelled one, or appear twice. What
//! the payload has under such a member is [`Naming::Certain`].
//!
//! A payload over 300 KiB was cut when it was kept: the member that says whose signal it is may be
//! missing. When such a text, or any other that is no JSON object, has the id as a whole
//! value in any place, it is [`Naming::Doubtful`]. A number such as `1` is in nearly every text, and
//! counts only under a member that identifies.
//!
//! As in a valid signal, what is in `data` belongs to the subject of the signal, and names no other.
//!
//! The text is read by a scanner of this module's own, since [`model::json`] reads only valid JSON, and
//! the rule must be the same for what was cut.

mod pieces;

use model::json::JsonText;
use model::signal::intended_field;

use self::pieces::{Piece, Pieces};

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
    pub fn naming_in(self, subject_id: Option<&str>, payload: &str) -> Naming {
        if let Self::Subject(id) = self
            && subject_id == Some(id)
        {
            return Naming::Certain;
        }
        let Ok(json) = JsonText::parse(payload) else {
            return self.naming_in_broken(payload);
        };
        if !json.as_str().starts_with(['{', '[']) {
            // A client sent JSON in a string, or no JSON at all.
            let text = json.value().as_string().and_then(|text| text.decode().ok());
            return self.naming_in_broken(text.as_deref().unwrap_or(payload));
        }
        let mentions = self.mentions_in(payload);
        if mentions.identifies {
            Naming::Certain
        } else if json.as_str().starts_with('[') {
            // It has no member that could say whose signal it is.
            self.naming_by_text(&mentions)
        } else {
            Naming::Absent
        }
    }

    fn naming_in_broken(self, text: &str) -> Naming {
        let mentions = self.mentions_in(text);
        if mentions.identifies {
            Naming::Doubtful
        } else {
            self.naming_by_text(&mentions)
        }
    }

    /// How a payload names it whose members do not say whose signal it is.
    fn naming_by_text(self, mentions: &Mentions) -> Naming {
        if mentions.anywhere && self.is_distinctive() {
            Naming::Doubtful
        } else {
            Naming::Absent
        }
    }

    fn is_distinctive(self) -> bool {
        let text = self.text();
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        !is_number || text.len() >= MIN_DISTINCTIVE_DIGITS
    }

    fn mentions_in(self, text: &str) -> Mentions {
        let mut mentions = Mentions::default();
        let mut containers: Vec<Place> = Vec::new();
        // The place of the next value, when the text has just named it.
        let mut named = None;
        for piece in Pieces::of(text) {
            let around = containers.last().copied().unwrap_or(Place::Signal);
            match piece {
                Piece::Name(name) => {
                    mentions.anywhere |= self.is_text(&name);
                    named = Some(self.place_of_member(&name, around));
                }
                Piece::Open => containers.push(named.take().unwrap_or(around)),
                Piece::Close => {
                    containers.pop();
                }
                Piece::String(value) => {
                    let place = named.take().unwrap_or(around);
                    mentions.add(place, self.is_text(&value));
                }
                Piece::Word(word) => {
                    let place = named.take().unwrap_or(around);
                    mentions.add(place, self.is_number(word));
                }
                Piece::Cut(beginning) => {
                    let place = named.take().unwrap_or(around);
                    mentions.add(
                        place,
                        self.is_text(&beginning) || self.is_number(&beginning),
                    );
                    let is_beginning = self.begins_with(&beginning);
                    mentions.identifies |= is_beginning && place == Place::Identity;
                }
            }
        }
        mentions
    }

    /// What the value of a member is, in an object that is at `around`.
    fn place_of_member(self, name: &str, around: Place) -> Place {
        match around {
            Place::Identity | Place::Data => around,
            Place::Signal | Place::Other if name == "data" => Place::Data,
            Place::Signal | Place::Other if self.members().contains(&name) => Place::Identity,
            Place::Signal if self.is_misspelled_member(name) => Place::Identity,
            Place::Signal | Place::Other => Place::Other,
        }
    }

    fn is_misspelled_member(self, name: &str) -> bool {
        intended_field(name).is_some_and(|field| self.members().contains(&field))
    }

    /// Whether a string is the text, as it is or without the white space around it.
    fn is_text(self, value: &str) -> bool {
        value == self.text() || value.trim() == self.text()
    }

    /// Whether a number has the text as its value: `1001.0` and `1.001e3` have `1001`.
    fn is_number(self, word: &str) -> bool {
        word == self.text() || plain_number(word).is_some_and(|number| number == self.text())
    }

    /// Whether the text begins with what is left of a value that was cut.
    fn begins_with(self, beginning: &str) -> bool {
        let beginning = beginning.trim_start();
        !beginning.is_empty() && self.text().starts_with(beginning)
    }
}

/// How a payload names whom or what an operator looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Under a member that identifies.
    Certain,
    /// In a payload that was cut or cannot be read: an operator has to look at it.
    Doubtful,
    /// Not at all.
    Absent,
}

/// Where a text has what is looked for.
#[derive(Debug, Default)]
struct Mentions {
    /// Under a member that identifies.
    identifies: bool,
    /// In any place, also as the name of a member.
    anywhere: bool,
}

impl Mentions {
    fn add(&mut self, place: Place, is_wanted: bool) {
        self.anywhere |= is_wanted;
        self.identifies |= is_wanted && place == Place::Identity;
    }
}

/// What a value is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The signal itself, or an array of signals.
    Signal,
    /// A member that identifies.
    Identity,
    /// The member `data`.
    Data,
    /// Another member.
    Other,
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
