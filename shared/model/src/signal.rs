//! One signal: an event or a workflow step. Each signal of a batch is validated on its own.

mod accepted_signal;
mod builder;

use std::borrow::Cow;

use self::builder::SignalBuilder;
use crate::json::{RawString, Value};
use crate::pointer::JsonPointer;
use crate::storable::StorableJson;
use crate::suggestion::{SIGNAL_SYNONYMS, Vocabulary};
use crate::validation::{FieldError, Warning};

/// The fields of a signal in the contract, of both shapes.
pub const SIGNAL_FIELDS: [&str; 6] = [
    "customerId",
    "eventType",
    "emitterId",
    "stepNodeId",
    "eventflowIdentifier",
    "data",
];

/// Those of them that say whose signal it is, and what it says.
pub(crate) const IDENTITY_FIELDS: [&str; 4] =
    ["customerId", "eventType", "emitterId", "stepNodeId"];

/// The same fields, and what other systems call them.
pub(crate) const SIGNAL: Vocabulary = Vocabulary {
    fields: &SIGNAL_FIELDS,
    synonyms: &SIGNAL_SYNONYMS,
};

/// The field of a signal that a client may have meant by another `name`: what a warning suggests
/// (docs/api.md, Warnings).
pub fn intended_field(name: &str) -> Option<&'static str> {
    SIGNAL.suggest(name)
}

/// A signal that obeys every rule of the contract, or obeyed the rules when it was
/// [accepted](crate::never_accepted).
#[derive(Clone, Debug)]
pub struct Signal<'a> {
    index: usize,
    identity: Identity<'a>,
    eventflow_identifier: Option<Cow<'a, str>>,
    data: StorableJson<'a>,
    value: Value<'a>,
    has_unknown_fields: bool,
    warnings: Vec<Warning>,
}

/// Whose signal it is, and what it says.
#[derive(Clone, Debug)]
pub enum Identity<'a> {
    /// A customer did something.
    Event {
        /// The caller's identifier of the customer.
        customer_id: Cow<'a, str>,
        /// What the customer did.
        event_type: Cow<'a, str>,
    },
    /// A journey through a workflow reached a step.
    Step {
        /// The journey.
        emitter_id: Cow<'a, str>,
        /// The step.
        step_node_id: Cow<'a, str>,
    },
}

impl<'a> Identity<'a> {
    /// The customer or the emitter, to whose history the signal belongs.
    fn into_subject_id(self) -> Cow<'a, str> {
        match self {
            Self::Event { customer_id, .. } => customer_id,
            Self::Step { emitter_id, .. } => emitter_id,
        }
    }
}

/// A signal that breaks a rule.
#[derive(Clone, Debug)]
pub struct RejectedSignal<'a> {
    /// The index in the request, from 0; valid signals count.
    pub index: usize,
    /// The JSON text, as it was sent.
    pub payload: &'a str,
    /// The customer or the emitter, if it is valid.
    pub subject_id: Option<Cow<'a, str>>,
    /// The first validation errors, at most
    /// [`MAX_ERRORS_PER_SIGNAL`](crate::limits::MAX_ERRORS_PER_SIGNAL).
    pub errors: Vec<FieldError>,
}

impl<'a> Signal<'a> {
    /// Reads `value` as the `index`-th signal of its request; its errors are reported at `path`.
    ///
    /// # Errors
    /// The signal with its validation errors.
    pub fn parse(
        value: Value<'a>,
        index: usize,
        path: &JsonPointer<'_>,
    ) -> Result<Self, RejectedSignal<'a>> {
        let mut builder = SignalBuilder::new(value.text(), path);
        let identity = builder.read(value, path);
        builder.build(identity, index, value, path)
    }

    /// The index in the request, from 0; rejected signals count.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whose signal it is, and what it says.
    pub fn identity(&self) -> &Identity<'a> {
        &self.identity
    }

    /// The customer or the emitter, to whose history the signal belongs.
    pub fn subject_id(&self) -> &str {
        match &self.identity {
            Identity::Event { customer_id, .. } => customer_id,
            Identity::Step { emitter_id, .. } => emitter_id,
        }
    }

    /// The UUID of the event flow, as it was sent. The rules require one of a workflow step.
    pub fn eventflow_identifier(&self) -> Option<&str> {
        self.eventflow_identifier.as_deref()
    }

    /// An object; `{}` when it was null or left out.
    pub fn data(&self) -> StorableJson<'a> {
        self.data
    }

    /// The names and values of the unknown fields that are not null, in the order in which they
    /// were sent; `None` without such a field. They are read from the text again: a list would take
    /// several times the memory of the text.
    pub fn unknown_fields(
        &self,
    ) -> Option<impl Iterator<Item = (RawString<'a>, StorableJson<'a>)>> {
        let validated = |(name, value)| (name, StorableJson::validated(value));
        self.has_unknown_fields
            .then(|| unknown_fields(self.value).map(validated))
    }

    /// The JSON text, as it was sent.
    pub fn payload(&self) -> &'a str {
        self.value.text()
    }

    /// The warnings about unknown fields and about attributes of the data with another type.
    pub fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }

    /// The signal as a rejected one, because DynamoDB found it invalid.
    pub fn into_refused(self) -> RejectedSignal<'a> {
        let signals = JsonPointer::Member(&JsonPointer::Root, "signals");
        let path = JsonPointer::Element(&signals, self.index);
        RejectedSignal {
            index: self.index,
            payload: self.value.text(),
            subject_id: Some(self.identity.into_subject_id()),
            errors: vec![FieldError::refused_by_store(&path)],
        }
    }
}

/// The unknown fields of `signal`, valid or not, that are not null.
fn unknown_fields(signal: Value<'_>) -> impl Iterator<Item = (RawString<'_>, Value<'_>)> {
    let is_known = |name: RawString<'_>| {
        name.decode()
            .is_ok_and(|name| SIGNAL_FIELDS.contains(&name.as_ref()))
    };
    signal
        .raw_fields()
        .filter(move |(name, value)| !value.is_null() && !is_known(*name))
}

#[cfg(test)]
mod tests;
