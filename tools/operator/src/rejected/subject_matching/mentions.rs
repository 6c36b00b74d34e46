//! Where a payload has what is looked for. Must not know what that means for an erasure or an export.

use std::mem::replace;

use model::identifier::is_blank_or_placeholder;

use super::pieces::{Piece, Pieces};
use super::{SubjectMatch, Wanted};

/// Where a text has what is looked for.
#[derive(Debug)]
pub(super) struct Mentions {
    /// Under the members that identify: certain, or doubtful inside another's signal, in JSON that is
    /// inside a string, and in what was cut.
    pub(super) under_members: SubjectMatch,
    /// In any place, also as the name of a member.
    pub(super) is_anywhere: bool,
    /// Whether a member of the signal itself says whose signal it is.
    pub(super) has_subject: bool,
}

impl Mentions {
    /// Reads a text to its end, and strings in it that are JSON themselves.
    pub(super) fn find(wanted: Wanted<'_>, text: &str) -> Self {
        Search::new(wanted, true).run(text)
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

/// An object or an array, as far as it is read.
struct Container {
    place: Place,
    /// Whether one of its members that identify has a value.
    has_subject: bool,
    /// Whether one of them has what is looked for.
    names_wanted: bool,
    /// Whether an object inside it names what is looked for, and none between them has a subject.
    contains_wanted: bool,
}

impl Container {
    fn at(place: Place) -> Self {
        Self {
            place,
            has_subject: false,
            names_wanted: false,
            contains_wanted: false,
        }
    }

    fn has_wanted(&self) -> bool {
        self.names_wanted || self.contains_wanted
    }
}

/// A text on its way to the end.
struct Search<'w> {
    wanted: Wanted<'w>,
    /// Whether strings that are JSON are read, too.
    reads_strings: bool,
    mentions: Mentions,
    current: Container,
    /// What is around the current container.
    outer: Vec<Container>,
    /// The place of the next value, when the text has just named it.
    named: Option<Place>,
}

impl<'w> Search<'w> {
    fn new(wanted: Wanted<'w>, reads_strings: bool) -> Self {
        Self {
            wanted,
            reads_strings,
            mentions: Mentions {
                under_members: SubjectMatch::Absent,
                is_anywhere: false,
                has_subject: false,
            },
            current: Container::at(Place::Signal),
            outer: Vec::new(),
            named: None,
        }
    }

    fn run(mut self, text: &str) -> Mentions {
        for piece in Pieces::of(text) {
            self.read(piece);
        }
        let is_found = self.current.has_wanted() || self.outer.iter().any(Container::has_wanted);
        if is_found && self.outer.is_empty() {
            self.mentions.under_members = SubjectMatch::Certain;
        } else if is_found {
            self.mentions.under_members = SubjectMatch::Doubtful;
        }
        self.mentions
    }

    fn read(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Name(name) => {
                self.mentions.is_anywhere |= self.wanted.is_text(&name);
                self.named = Some(self.place_of_member(&name));
            }
            Piece::Open => {
                let inner = Container::at(self.place_of_value());
                self.outer.push(replace(&mut self.current, inner));
            }
            Piece::Close => {
                if let Some(outer) = self.outer.pop() {
                    let closed = replace(&mut self.current, outer);
                    self.add_closed(&closed);
                }
            }
            Piece::String(value) => {
                let place = self.place_of_value();
                let is_wanted = self.wanted.is_text(&value);
                self.add_value(place, is_wanted, !is_blank_or_placeholder(&value));
                self.read_string(place, &value);
            }
            Piece::Word(word) => {
                let place = self.place_of_value();
                self.add_value(place, self.wanted.is_word(word), word != "null");
            }
            Piece::Cut(beginning) => {
                let place = self.place_of_value();
                let is_wanted = self.wanted.is_text(&beginning) || self.wanted.is_word(&beginning);
                self.add_value(place, is_wanted, true);
                if place == Place::Identity && self.wanted.begins_with(&beginning) {
                    self.current.names_wanted = true;
                }
                self.read_string(place, &beginning);
            }
        }
    }

    fn place_of_value(&mut self) -> Place {
        self.named.take().unwrap_or(self.current.place)
    }

    /// What the value of a member of the current object is.
    fn place_of_member(&self, name: &str) -> Place {
        match self.current.place {
            place @ (Place::Identity | Place::Data) => place,
            Place::Signal | Place::Other if name == "data" => Place::Data,
            Place::Signal | Place::Other if self.wanted.is_member(name) => Place::Identity,
            Place::Signal if self.wanted.is_misspelled_member(name) => Place::Identity,
            Place::Signal | Place::Other => Place::Other,
        }
    }

    fn add_value(&mut self, place: Place, is_wanted: bool, is_subject: bool) {
        self.mentions.is_anywhere |= is_wanted;
        if place == Place::Identity {
            self.current.names_wanted |= is_wanted;
            self.current.has_subject |= is_subject;
        }
    }

    /// Adds what the current container has in one that has ended.
    fn add_closed(&mut self, closed: &Container) {
        if closed.place == Place::Identity {
            self.current.names_wanted |= closed.names_wanted;
            self.current.has_subject |= closed.has_subject;
            return;
        }
        self.mentions.has_subject |= closed.has_subject && closed.place == Place::Signal;
        let is_anothers = closed.has_subject && !closed.names_wanted;
        if !is_anothers {
            self.current.contains_wanted |= closed.has_wanted();
        } else if closed.contains_wanted {
            self.mentions.under_members = SubjectMatch::Doubtful;
        }
    }

    /// Reads a string that is JSON.
    fn read_string(&mut self, place: Place, value: &str) {
        if !self.reads_strings || !value.trim_start().starts_with(['{', '[']) {
            return;
        }
        let inner = Search::new(self.wanted, false).run(value);
        self.mentions.is_anywhere |= inner.is_anywhere;
        let is_under_member = inner.under_members != SubjectMatch::Absent;
        let is_named = match place {
            Place::Identity => is_under_member || inner.is_anywhere,
            Place::Signal | Place::Other => is_under_member,
            Place::Data => false,
        };
        if is_named {
            self.mentions.under_members = SubjectMatch::Doubtful;
        }
    }
}
