//! Reads a signal that a function accepted before, without the rules of the API.

use std::borrow::Cow;

use super::{Identity, Signal};
use crate::json::{Field, Object, Value};
use crate::never_accepted::{NeverAccepted, read_text, require_storable};
use crate::pointer::JsonPointer;
use crate::storable::StorableJson;
use crate::validation::FieldErrors;

impl<'a> Signal<'a> {
    /// Reads the `index`-th signal of a request, which a function accepted. It has an identity of one
    /// of the two shapes, and storable values.
    ///
    /// # Errors
    /// [`NeverAccepted`]
    pub fn read_accepted(value: Value<'a>, index: usize) -> Result<Self, NeverAccepted> {
        let mut errors = FieldErrors::with_limit(1);
        let mut fields = AcceptedFields::default();
        let object = value.as_object(&JsonPointer::Root).ok_or(NeverAccepted)?;
        fields.read(object, &mut errors)?;
        require_storable(&errors)?;
        let identity = fields.identity()?;
        Ok(Self {
            index,
            identity,
            eventflow_identifier: fields.eventflow_identifier,
            data: fields
                .data
                .map_or(StorableJson::EMPTY_OBJECT, StorableJson::validated),
            value,
            has_unknown_fields: fields.has_unknown_fields,
            warnings: Vec::new(),
        })
    }
}

/// The fields of a signal while they are read. A field that is null counts as absent.
#[derive(Default)]
struct AcceptedFields<'a> {
    customer_id: Option<Cow<'a, str>>,
    event_type: Option<Cow<'a, str>>,
    emitter_id: Option<Cow<'a, str>>,
    step_node_id: Option<Cow<'a, str>>,
    eventflow_identifier: Option<Cow<'a, str>>,
    data: Option<Value<'a>>,
    has_unknown_fields: bool,
}

impl<'a> AcceptedFields<'a> {
    fn read(
        &mut self,
        mut signal: Object<'a, '_>,
        errors: &mut FieldErrors,
    ) -> Result<(), NeverAccepted> {
        while let Some(field) = signal.next_field(errors) {
            let value = field.value;
            match field.name.as_ref() {
                _ if value.is_null() => {}
                "customerId" => self.customer_id = Some(read_text(value)?),
                "eventType" => self.event_type = Some(read_text(value)?),
                "emitterId" => self.emitter_id = Some(read_text(value)?),
                "stepNodeId" => self.step_node_id = Some(read_text(value)?),
                "eventflowIdentifier" => self.eventflow_identifier = Some(read_text(value)?),
                "data" => self.data = Some(read_object(&field, errors)?),
                _ => {
                    self.has_unknown_fields = true;
                    // It is stored inside one map, `undocumented`.
                    StorableJson::validate(value, 1, &field.path(), errors);
                }
            }
        }
        Ok(())
    }

    fn identity(&mut self) -> Result<Identity<'a>, NeverAccepted> {
        let texts = (
            self.customer_id.take(),
            self.event_type.take(),
            self.emitter_id.take(),
            self.step_node_id.take(),
        );
        match texts {
            (Some(customer_id), Some(event_type), None, None) => Ok(Identity::Event {
                customer_id,
                event_type,
            }),
            (None, None, Some(emitter_id), Some(step_node_id)) => Ok(Identity::Step {
                emitter_id,
                step_node_id,
            }),
            _ => Err(NeverAccepted),
        }
    }
}

/// An object that can be stored, if there is no error.
fn read_object<'a>(
    field: &Field<'a, '_>,
    errors: &mut FieldErrors,
) -> Result<Value<'a>, NeverAccepted> {
    let path = field.path();
    if field.value.as_object(&path).is_none() {
        return Err(NeverAccepted);
    }
    StorableJson::validate(field.value, 0, &path, errors);
    Ok(field.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonText;

    fn signal(json: &str) -> Result<Signal<'_>, NeverAccepted> {
        Signal::read_accepted(JsonText::parse(json).unwrap().value(), 3)
    }

    #[test]
    fn signal_that_breaks_rules_of_the_api_is_read_whole() {
        let long = "x".repeat(300_000);
        let event = format!(
            r#"{{"customerId":"<nil>","eventType":"","eventflowIdentifier":"no UUID","more":[1],"data":{{"a":"{long}"}}}}"#
        );
        assert!(
            Signal::parse(
                JsonText::parse(&event).unwrap().value(),
                3,
                &JsonPointer::Root
            )
            .is_err()
        );
        let read = signal(&event).unwrap();
        assert_eq!((read.index(), read.subject_id()), (3, "<nil>"));
        assert_eq!(read.eventflow_identifier(), Some("no UUID"));
        assert_eq!(read.data().as_str().len(), 300_008);
        assert_eq!(read.unknown_fields().unwrap().count(), 1);
        assert_eq!(read.payload(), event);

        let step = signal(r#"{"emitterId":" ","stepNodeId":"\u200b","data":null}"#).unwrap();
        assert_eq!(step.subject_id(), " ");
        assert_eq!(step.eventflow_identifier(), None);
        assert_eq!(step.data(), StorableJson::EMPTY_OBJECT);
    }

    #[test]
    fn text_that_is_no_signal_of_any_rules_was_never_accepted() {
        for foreign in [
            "17",
            "[]",
            "{}",
            r#"{"customerId":"c"}"#,
            r#"{"customerId":"c","stepNodeId":"s"}"#,
            r#"{"customerId":"c","eventType":"t","emitterId":"e"}"#,
            r#"{"customerId":7,"eventType":"t"}"#,
            r#"{"customerId":"c","customerId":"c","eventType":"t"}"#,
            r#"{"customerId":"c","eventType":"t","data":[]}"#,
            r#"{"customerId":"c","eventType":"t","data":{"n":1e999}}"#,
            r#"{"customerId":"c","eventType":"t","more":"\ud800"}"#,
            r#"{"customerId":"c","eventType":"t","":1}"#,
        ] {
            assert!(signal(foreign).is_err(), "{foreign}");
        }
    }
}
