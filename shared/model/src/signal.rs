//! One signal: an event or a workflow step, each standing on its own.

use std::borrow::Cow;

use crate::fault::{Fault, FaultCode, Faults, Violation, Warning, Warnings};
use crate::identifier::{PlaceholderPolicy, UuidText, read_identifier, read_uuid};
use crate::json::{Field, JsonText, Object, Value};
use crate::limits::{REPORTED_PER_SIGNAL, SIGNAL_BYTES};
use crate::place::Path;
use crate::storable::StorableJson;
use crate::undocumented::Undocumented;

/// A signal that obeys every rule of the contract.
#[derive(Clone, Debug)]
pub struct Signal<'a> {
    /// Its place in the request, counted from 0; the rejected ones count.
    pub index: usize,
    /// Who, and what they did.
    pub identity: Identity<'a>,
    /// Always there in a workflow step.
    pub eventflow_identifier: Option<UuidText<'a>>,
    /// An object; `{}` when it was null or left out.
    pub data: StorableJson<'a>,
    /// Fields that are not in the contract.
    pub undocumented: Undocumented<'a>,
    /// As it was sent.
    pub payload: &'a str,
}

/// Who, and what they did, in either of the two shapes.
#[derive(Clone, Debug)]
pub enum Identity<'a> {
    /// A customer did something.
    Event {
        /// Who.
        customer_id: Cow<'a, str>,
        /// What, in the caller's words.
        event_type: Cow<'a, str>,
    },
    /// A workflow journey came to a node.
    Step {
        /// The journey.
        emitter_id: Cow<'a, str>,
        /// The node.
        step_node_id: Cow<'a, str>,
    },
}

impl Identity<'_> {
    /// The customer or the emitter: whose history the signal belongs to.
    #[must_use]
    pub fn subject_id(&self) -> &str {
        match self {
            Self::Event { customer_id, .. } => customer_id,
            Self::Step { emitter_id, .. } => emitter_id,
        }
    }
}

/// A signal that breaks a rule.
#[derive(Clone, Debug)]
pub struct RejectedSignal<'a> {
    /// Its place in the request, counted from 0.
    pub index: usize,
    /// As it was sent.
    pub payload: &'a str,
    /// The customer or the emitter, if that could be read.
    pub subject_id: Option<Cow<'a, str>>,
    /// What is wrong with it, the first five.
    pub faults: Vec<Fault>,
}

impl<'a> Signal<'a> {
    /// Reads one signal outside a batch, as the `index`-th of its request; `path` is where its errors are said to be.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: JsonText<'a>, index: usize, path: &Path<'_>) -> Result<Self, RejectedSignal<'a>> {
        Parsed::from_value(text.value(), index, path).outcome
    }
}

/// A signal as it was read, and the fields of it that are not in the contract.
pub(crate) struct Parsed<'a> {
    pub(crate) outcome: Result<Signal<'a>, RejectedSignal<'a>>,
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> Parsed<'a> {
    /// Reads `value` as the signal at `path`, the `index`-th of its request.
    pub(crate) fn from_value(value: Value<'a>, index: usize, path: &Path<'_>) -> Self {
        let mut builder = Builder::new(value.text(), path);
        if let Value::Object(signal) = value {
            builder.read(signal, path);
            builder.check_identity(path);
        } else {
            builder.errors.add(path, FaultCode::InvalidType, "must be an object");
        }
        builder.build(index, path)
    }
}

/// A signal as far as it was read.
#[derive(Debug)]
struct Builder<'a> {
    payload: &'a str,
    customer_id: Found<Cow<'a, str>>,
    event_type: Found<Cow<'a, str>>,
    emitter_id: Found<Cow<'a, str>>,
    step_node_id: Found<Cow<'a, str>>,
    eventflow_identifier: Found<UuidText<'a>>,
    data: StorableJson<'a>,
    undocumented: Undocumented<'a>,
    errors: Faults,
    warnings: Warnings,
}

impl<'a> Builder<'a> {
    fn new(payload: &'a str, path: &Path<'_>) -> Self {
        let mut errors = Faults::keeping(REPORTED_PER_SIGNAL);
        if payload.len() > SIGNAL_BYTES {
            // What else is wrong with it does not matter until it is shorter.
            errors = Faults::keeping(1);
            let message = format!("must have at most {SIGNAL_BYTES} bytes of JSON; {} were sent", payload.len());
            errors.add(path, FaultCode::TooLarge, message);
        }
        Self {
            payload,
            customer_id: Found::Absent,
            event_type: Found::Absent,
            emitter_id: Found::Absent,
            step_node_id: Found::Absent,
            eventflow_identifier: Found::Absent,
            data: StorableJson::EMPTY_OBJECT,
            undocumented: Undocumented::default(),
            errors,
            warnings: Warnings::keeping(REPORTED_PER_SIGNAL),
        }
    }

    fn read(&mut self, signal: Object<'a>, path: &Path<'_>) {
        let subject = |value| read_identifier(value, PlaceholderPolicy::Reject);
        let action = |value| read_identifier(value, PlaceholderPolicy::Allow);
        let mut fields = signal.fields(path);
        while let Some(field) = fields.next(&mut self.errors) {
            match field.name.as_ref() {
                "customerId" => self.customer_id = self.read_field(&field, subject),
                "eventType" => self.event_type = self.read_field(&field, action),
                "emitterId" => self.emitter_id = self.read_field(&field, subject),
                "stepNodeId" => self.step_node_id = self.read_field(&field, action),
                "eventflowIdentifier" => self.eventflow_identifier = self.read_field(&field, read_uuid),
                _ if field.value.is_null() => {}
                "data" => self.read_data(&field),
                _ => {
                    self.validate_undocumented(&field);
                    self.undocumented = Undocumented::of(signal);
                }
            }
        }
    }

    fn read_field<T>(
        &mut self,
        field: &Field<'a, '_>,
        read: impl FnOnce(Value<'a>) -> Result<T, Violation>,
    ) -> Found<T> {
        if field.value.is_null() {
            return Found::Absent;
        }
        self.errors.check(&field.path(), read(field.value)).map_or(Found::Invalid, Found::Valid)
    }

    fn read_data(&mut self, field: &Field<'a, '_>) {
        let path = field.path();
        if !matches!(field.value, Value::Object(_)) {
            self.errors.add(&path, FaultCode::InvalidType, "must be an object or null");
        } else if let Some(data) = StorableJson::validate(field.value, 0, &path, &mut self.errors) {
            self.data = data;
        }
    }

    fn validate_undocumented(&mut self, field: &Field<'a, '_>) {
        let path = field.path();
        // It is stored inside one map, `undocumented`.
        StorableJson::validate(field.value, 1, &path, &mut self.errors);
        self.warnings.add(&path, || "is not in the contract; it is stored with the signal under undocumented");
    }

    /// There must be one identity pair, both halves of it, and an eventflowIdentifier in a workflow step.
    fn check_identity(&mut self, signal: &Path<'_>) {
        let is_event = self.customer_id.is_present() || self.event_type.is_present();
        let is_step = self.emitter_id.is_present() || self.step_node_id.is_present();
        let mut require = |name, present: bool, message| {
            if !present {
                self.errors.add(&Path::Member(signal, name), FaultCode::Required, message);
            }
        };
        match (is_event, is_step) {
            (true, false) => {
                require("customerId", self.customer_id.is_present(), "is required beside eventType");
                require("eventType", self.event_type.is_present(), "is required beside customerId");
            }
            (false, true) => {
                require("emitterId", self.emitter_id.is_present(), "is required beside stepNodeId");
                require("stepNodeId", self.step_node_id.is_present(), "is required beside emitterId");
                let has_flow = self.eventflow_identifier.is_present();
                require("eventflowIdentifier", has_flow, "is required in a workflow step");
            }
            (false, false) => {
                let message = "must have customerId and eventType, or emitterId and stepNodeId";
                self.errors.add(signal, FaultCode::Required, message);
            }
            (true, true) => {
                let message = "must have either customerId and eventType or emitterId and stepNodeId, not both";
                self.errors.add(signal, FaultCode::AmbiguousIdentity, message);
            }
        }
    }

    fn build(self, index: usize, path: &Path<'_>) -> Parsed<'a> {
        use Found::Valid;
        let is_valid = self.errors.is_empty();
        let identity = match (self.customer_id, self.event_type, self.emitter_id, self.step_node_id) {
            (Valid(customer_id), Valid(event_type), ..) if is_valid => Ok(Identity::Event { customer_id, event_type }),
            (_, _, Valid(emitter_id), Valid(step_node_id)) if is_valid => {
                Ok(Identity::Step { emitter_id, step_node_id })
            }
            (customer_id, _, emitter_id, _) => Err(customer_id.valid().or(emitter_id.valid())),
        };
        let payload = self.payload;
        let outcome = match identity {
            Ok(identity) => Ok(Signal {
                index,
                identity,
                eventflow_identifier: self.eventflow_identifier.valid(),
                data: self.data,
                undocumented: self.undocumented,
                payload,
            }),
            Err(subject_id) => Err(RejectedSignal { index, payload, subject_id, faults: self.errors.into_kept() }),
        };
        Parsed { outcome, warnings: self.warnings.into_kept(path) }
    }
}

/// A field that was looked for.
#[derive(Debug)]
enum Found<T> {
    /// It is not there, or null.
    Absent,
    /// Its value is wrong, which was reported.
    Invalid,
    /// Its value.
    Valid(T),
}

impl<T> Found<T> {
    fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    fn valid(self) -> Option<T> {
        match self {
            Self::Valid(value) => Some(value),
            Self::Absent | Self::Invalid => None,
        }
    }
}

#[cfg(test)]
#[path = "signal_tests.rs"]
mod tests;
