//! Reads the fields of one signal, collects their validation errors, and builds the signal from what
//! is valid.

use std::borrow::Cow;

use super::{Identity, RejectedSignal, SIGNAL, SIGNAL_FIELDS, Signal};
use crate::hint;
use crate::identifier::{IdentifierKind, check_identifier, read_uuid};
use crate::json::{Field, Object, Value};
use crate::limits::{MAX_ERRORS_PER_SIGNAL, MAX_SIGNAL_BYTES};
use crate::pointer::JsonPointer;
use crate::storable::{StorableJson, check_name};
use crate::validation::{FieldErrorCode, FieldErrors, Invalid, WarningCode, Warnings};

/// An identifier that was read: `None` if it is absent or null, otherwise its text, or `Invalid` if
/// its error was added to the others.
type FoundText<'a> = Option<Result<Cow<'a, str>, Invalid>>;

/// A signal while it is read.
#[derive(Default)]
pub(super) struct SignalBuilder<'a> {
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
    /// A builder for the signal with this JSON text, whose errors are reported at `path`.
    pub(super) fn new(payload: &str, path: &JsonPointer<'_>) -> Self {
        let mut errors = FieldErrors::with_limit(MAX_ERRORS_PER_SIGNAL);
        if payload.len() > MAX_SIGNAL_BYTES {
            // The client must make the signal shorter first, so its other errors are not reported.
            errors = FieldErrors::with_limit(1);
            let escapes = hint::of_escapes(payload);
            let message = format!(
                "must have at most {MAX_SIGNAL_BYTES} bytes of JSON{escapes}; {} were sent",
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

    /// Reads the fields of a signal. Returns its identity, if that is valid.
    pub(super) fn read(
        &mut self,
        signal: Value<'a>,
        path: &JsonPointer<'_>,
    ) -> Option<Identity<'a>> {
        let Some(fields) = signal.as_object(path) else {
            let message = format!("must be an object{}", hint::of_no_object(signal));
            self.errors.add(path, FieldErrorCode::InvalidType, message);
            return None;
        };
        self.read_fields(fields);
        self.check_identity(signal, path)
    }

    fn read_fields(&mut self, mut signal: Object<'a, '_>) {
        while let Some(field) = signal.next_field(&mut self.errors) {
            match field.name.as_ref() {
                "customerId" => self.customer_id = self.read_subject(&field),
                "eventType" => self.event_type = self.read_type(&field),
                "emitterId" => self.emitter_id = self.read_subject(&field),
                "stepNodeId" => self.step_node_id = self.read_type(&field),
                "eventflowIdentifier" => {
                    self.eventflow_identifier = self.read_uuid(&field);
                }
                _ if field.value.is_null() => {}
                "data" => self.read_data(field.value, &field.path()),
                _ => self.read_unknown_field(&field),
            }
        }
    }

    fn read_subject(&mut self, field: &Field<'a, '_>) -> FoundText<'a> {
        self.read_identifier(field, IdentifierKind::Subject)
    }

    fn read_type(&mut self, field: &Field<'a, '_>) -> FoundText<'a> {
        self.read_identifier(field, IdentifierKind::Type)
    }

    fn read_identifier(&mut self, field: &Field<'a, '_>, kind: IdentifierKind) -> FoundText<'a> {
        if field.value.is_null() {
            return None;
        }
        let identifier = check_identifier(field, kind, &mut self.errors, &mut self.warnings);
        Some(identifier)
    }

    fn read_uuid(&mut self, field: &Field<'a, '_>) -> FoundText<'a> {
        if field.value.is_null() {
            return None;
        }
        let uuid = self.errors.check(&field.path(), read_uuid(field.value));
        Some(uuid)
    }

    fn read_data(&mut self, data: Value<'a>, path: &JsonPointer<'_>) {
        if data.as_object(path).is_some() {
            StorableJson::validate(data, 0, path, &mut self.errors);
            self.data = Some(data);
        } else {
            let message = format!("must be an object or null{}", hint::of_no_object(data));
            self.errors.add(path, FieldErrorCode::InvalidType, message);
        }
    }

    fn read_unknown_field(&mut self, field: &Field<'a, '_>) {
        let path = field.path();
        self.has_unknown_fields = true;
        check_name(&field.name, &path, &mut self.errors);
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

    /// The signal, or the rejected one if anything of it is invalid.
    pub(super) fn build(
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
