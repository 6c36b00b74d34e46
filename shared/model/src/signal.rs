//! One signal: an event or a workflow step. Each signal of a batch is validated on its own.

use std::borrow::Cow;

use crate::identifier::{read_identifier, read_subject_id, read_uuid};
use crate::json::{Field, Object, RawString, Value};
use crate::limits::{MAX_ERRORS_PER_SIGNAL, MAX_SIGNAL_BYTES};
use crate::pointer::JsonPointer;
use crate::storable::StorableJson;
use crate::suggestion::{SIGNAL_SYNONYMS, Vocabulary};
use crate::validation::{
    FieldError, FieldErrorCode, FieldErrors, Invalid, Violation, Warning, WarningCode, Warnings,
};

/// The fields of a signal in the contract, of both shapes.
const SIGNAL_FIELDS: [&str; 6] = [
    "customerId",
    "eventType",
    "emitterId",
    "stepNodeId",
    "eventflowIdentifier",
    "data",
];

/// The members of a signal.
pub(crate) const SIGNAL: Vocabulary = Vocabulary {
    members: &SIGNAL_FIELDS,
    synonyms: &SIGNAL_SYNONYMS,
};

/// A signal that obeys every rule of the contract.
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

/// Whose signal it is, and what it says: each text has 1 to 256 characters.
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
    /// The first [`MAX_ERRORS_PER_SIGNAL`] validation errors.
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
        let mut identity = None;
        if let Some(signal) = value.as_object(path) {
            builder.read(signal);
            identity = builder.check_identity(value, path);
        } else {
            builder
                .errors
                .add(path, FieldErrorCode::InvalidType, "must be an object");
        }
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

    /// The UUID of the event flow, as it was sent. A workflow step has one.
    pub fn eventflow_identifier(&self) -> Option<&str> {
        self.eventflow_identifier.as_deref()
    }

    /// An object; `{}` when it was null or left out.
    pub fn data(&self) -> StorableJson<'a> {
        self.data
    }

    /// The names and values of the fields that are not in the contract and not null, in the order
    /// in which they were sent; `None` without such a field. They are read from the text again: a
    /// list would take several times the memory of the text.
    pub fn unknown_fields(
        &self,
    ) -> Option<impl Iterator<Item = (RawString<'a>, StorableJson<'a>)>> {
        let validated = |(name, value)| (name, StorableJson::validated(value));
        self.has_unknown_fields
            .then(|| unknown_fields(self.value).map(validated))
    }

    /// The JSON text, as it was sent: at most 256 KiB.
    pub fn payload(&self) -> &'a str {
        self.value.text()
    }

    /// The warnings about fields that are not in the contract or, in the data, of another type.
    pub fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }

    pub(crate) fn reject(self, error: FieldError) -> RejectedSignal<'a> {
        RejectedSignal {
            index: self.index,
            payload: self.value.text(),
            subject_id: Some(self.identity.into_subject_id()),
            errors: vec![error],
        }
    }
}

/// An identifier that was read: `None` if it is absent or null, otherwise its text, or `Invalid` if
/// its error was added to the others.
type FoundText<'a> = Option<Result<Cow<'a, str>, Invalid>>;

/// A function that reads an identifier from a value.
type ReadText<'a> = fn(Value<'a>) -> Result<Cow<'a, str>, Violation>;

/// A signal while it is read.
#[derive(Default)]
struct SignalBuilder<'a> {
    customer_id: FoundText<'a>,
    event_type: FoundText<'a>,
    emitter_id: FoundText<'a>,
    step_node_id: FoundText<'a>,
    eventflow_identifier: FoundText<'a>,
    data: Option<Value<'a>>,
    has_unknown_fields: bool,
    errors: FieldErrors,
    warnings: Warnings,
}

impl<'a> SignalBuilder<'a> {
    fn new(payload: &str, path: &JsonPointer<'_>) -> Self {
        let mut errors = FieldErrors::with_limit(MAX_ERRORS_PER_SIGNAL);
        if payload.len() > MAX_SIGNAL_BYTES {
            // The client must make the signal shorter first, so its other errors are not reported.
            errors = FieldErrors::with_limit(1);
            let message = format!(
                "must have at most {MAX_SIGNAL_BYTES} bytes of JSON; {} were sent",
                payload.len()
            );
            errors.add(path, FieldErrorCode::TooLarge, message);
        }
        Self {
            errors,
            warnings: Warnings::with_limit(MAX_ERRORS_PER_SIGNAL),
            ..Self::default()
        }
    }

    fn read(&mut self, mut signal: Object<'a, '_>) {
        while let Some(field) = signal.next_field(&mut self.errors) {
            match field.name.as_ref() {
                "customerId" => self.customer_id = self.read_field(&field, read_subject_id),
                "eventType" => self.event_type = self.read_field(&field, read_identifier),
                "emitterId" => self.emitter_id = self.read_field(&field, read_subject_id),
                "stepNodeId" => self.step_node_id = self.read_field(&field, read_identifier),
                "eventflowIdentifier" => {
                    self.eventflow_identifier = self.read_field(&field, read_uuid);
                }
                _ if field.value.is_null() => {}
                "data" => self.read_data(field.value, &field.path()),
                _ => self.read_unknown_field(&field),
            }
        }
    }

    fn read_field(&mut self, field: &Field<'a, '_>, read: ReadText<'a>) -> FoundText<'a> {
        if field.value.is_null() {
            return None;
        }
        let identifier = self.errors.check(&field.path(), read(field.value));
        Some(identifier)
    }

    fn read_data(&mut self, data: Value<'a>, path: &JsonPointer<'_>) {
        if data.as_object(path).is_some() {
            StorableJson::validate(data, 0, path, &mut self.errors);
            self.data = Some(data);
        } else {
            self.errors.add(
                path,
                FieldErrorCode::InvalidType,
                "must be an object or null",
            );
        }
    }

    fn read_unknown_field(&mut self, field: &Field<'a, '_>) {
        let path = field.path();
        self.has_unknown_fields = true;
        // It is stored inside one map, `undocumented`.
        StorableJson::validate(field.value, 1, &path, &mut self.errors);
        self.warnings
            .add(&path, WarningCode::UndocumentedMember, || {
                SIGNAL.warning(
                    "is not in the contract; it is stored with the signal under undocumented",
                    &field.name,
                )
            });
    }

    /// The identity, if both of its fields are there and valid and no field of the other shape is
    /// there. Adds an error for each field that is missing, also for the eventflowIdentifier of a
    /// workflow step.
    fn check_identity(
        &mut self,
        signal: Value<'a>,
        path: &JsonPointer<'_>,
    ) -> Option<Identity<'a>> {
        let is_event = self.customer_id.is_some() || self.event_type.is_some();
        let is_step = self.emitter_id.is_some() || self.step_node_id.is_some();
        match (is_event, is_step) {
            (true, false) => self.check_event(signal, path),
            (false, true) => self.check_step(signal, path),
            (false, false) => {
                let similar = SIGNAL.similar(signal, &SIGNAL_FIELDS);
                let message = format!(
                    "must have customerId and eventType, or emitterId and stepNodeId{similar}"
                );
                self.errors.add(path, FieldErrorCode::Required, message);
                None
            }
            (true, true) => {
                let message = "must have either customerId and eventType or emitterId and \
                               stepNodeId, not both";
                self.errors
                    .add(path, FieldErrorCode::AmbiguousIdentity, message);
                None
            }
        }
    }

    fn check_event(&mut self, signal: Value<'a>, path: &JsonPointer<'_>) -> Option<Identity<'a>> {
        let mut required = Required {
            signal,
            path,
            errors: &mut self.errors,
        };
        required.check(
            "customerId",
            &self.customer_id,
            "is required beside eventType",
        );
        required.check(
            "eventType",
            &self.event_type,
            "is required beside customerId",
        );
        Some(Identity::Event {
            customer_id: valid(&self.customer_id)?,
            event_type: valid(&self.event_type)?,
        })
    }

    fn check_step(&mut self, signal: Value<'a>, path: &JsonPointer<'_>) -> Option<Identity<'a>> {
        let mut required = Required {
            signal,
            path,
            errors: &mut self.errors,
        };
        required.check(
            "emitterId",
            &self.emitter_id,
            "is required beside stepNodeId",
        );
        required.check(
            "stepNodeId",
            &self.step_node_id,
            "is required beside emitterId",
        );
        required.check(
            "eventflowIdentifier",
            &self.eventflow_identifier,
            "is required in a workflow step",
        );
        Some(Identity::Step {
            emitter_id: valid(&self.emitter_id)?,
            step_node_id: valid(&self.step_node_id)?,
        })
    }

    /// Warns of each attribute of an event's data that has another type than in the contract, and
    /// is not null.
    fn check_attributes(&mut self, data: Value<'a>, path: &JsonPointer<'_>) {
        for (name, value) in data.raw_fields().filter(|(_, value)| !value.is_null()) {
            let name = name.decode().expect("`read_data` validated the names");
            let expected = match name.as_ref() {
                "price" if !value.is_number() => "a number",
                "brand" | "productId" | "category" | "subCategory1" | "subCategory2"
                | "subCategory3"
                    if value.as_string().is_none() =>
                {
                    "a string"
                }
                _ => continue,
            };
            let path = JsonPointer::Member(path, "data");
            self.warnings.add(
                &JsonPointer::Member(&path, &name),
                WarningCode::UnexpectedType,
                || format!("should be {expected}; it is stored as it was sent"),
            );
        }
    }

    fn build(
        mut self,
        identity: Option<Identity<'a>>,
        index: usize,
        signal: Value<'a>,
        path: &JsonPointer<'_>,
    ) -> Result<Signal<'a>, RejectedSignal<'a>> {
        let identity = match identity {
            Some(identity) if self.errors.is_empty() => identity,
            _ => {
                return Err(RejectedSignal {
                    index,
                    payload: signal.text(),
                    subject_id: valid(&self.customer_id).or_else(|| valid(&self.emitter_id)),
                    errors: self.errors.into_vec(),
                });
            }
        };
        if let (Identity::Event { .. }, Some(data)) = (&identity, self.data) {
            self.check_attributes(data, path);
        }
        let data = self
            .data
            .map_or(StorableJson::EMPTY_OBJECT, StorableJson::validated);
        Ok(Signal {
            index,
            identity,
            eventflow_identifier: valid(&self.eventflow_identifier),
            data,
            value: signal,
            has_unknown_fields: self.has_unknown_fields,
            warnings: self.warnings.into_vec(path),
        })
    }
}

/// Adds an error for each required field that is missing.
struct Required<'s, 'a> {
    signal: Value<'a>,
    path: &'s JsonPointer<'s>,
    errors: &'s mut FieldErrors,
}

impl<'a> Required<'_, 'a> {
    fn check(&mut self, name: &'static str, field: &FoundText<'a>, message: &str) {
        if field.is_none() {
            let similar = SIGNAL.similar(self.signal, &[name]);
            self.errors.add(
                &JsonPointer::Member(self.path, name),
                FieldErrorCode::Required,
                format!("{message}{similar}"),
            );
        }
    }
}

/// The text of an identifier, if it is there and valid. The error of an invalid one is among the
/// errors already.
fn valid<'a>(field: &FoundText<'a>) -> Option<Cow<'a, str>> {
    field.as_ref()?.as_ref().ok().cloned()
}

/// The fields of `signal`, valid or not, that are not in the contract and not null.
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
