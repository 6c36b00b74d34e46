//! Reads an update that a function accepted before, without the rules of the API.

use super::attributes::is_reserved;
use super::{Change, CustomerUpdate, FieldChange};
use crate::json::{Field, JsonText};
use crate::never_accepted::{NeverAccepted, read_text, require_storable};
use crate::pointer::JsonPointer;
use crate::storable::StorableJson;
use crate::validation::FieldErrors;

impl<'a> CustomerUpdate<'a> {
    /// Reads an update that a function accepted. It has a customer, and changes of fields to storable
    /// values. Whatever else the text has is ignored.
    ///
    /// # Errors
    /// [`NeverAccepted`]
    pub fn read_accepted(text: JsonText<'a>) -> Result<Self, NeverAccepted> {
        let mut errors = FieldErrors::with_limit(1);
        let mut customer_id = None;
        let mut changes = None;
        let mut update = text
            .value()
            .as_object(&JsonPointer::Root)
            .ok_or(NeverAccepted)?;
        while let Some(field) = update.next_field(&mut errors) {
            match field.name.as_ref() {
                "customerId" => customer_id = Some(read_text(field.value)?),
                "customerData" => changes = Some(read_changes(&field, &mut errors)?),
                _ => {}
            }
        }
        require_storable(&errors)?;
        Ok(Self {
            customer_id: customer_id.ok_or(NeverAccepted)?,
            changes: changes.ok_or(NeverAccepted)?,
            warnings: Vec::new(),
        })
    }
}

fn read_changes<'a>(
    profile: &Field<'a, '_>,
    errors: &mut FieldErrors,
) -> Result<Vec<FieldChange<'a>>, NeverAccepted> {
    let path = profile.path();
    let mut fields = profile.value.as_object(&path).ok_or(NeverAccepted)?;
    let mut changes = Vec::new();
    while let Some(field) = fields.next_field(errors) {
        // The item has an attribute of its own with this name. A version that reserves another name has
        // to give its messages another version.
        if is_reserved(&field.name) {
            return Err(NeverAccepted);
        }
        let change = if field.value.is_null() {
            Change::Remove
        } else {
            StorableJson::validate(field.value, 0, &field.path(), errors);
            Change::Set(StorableJson::validated(field.value))
        };
        changes.push(FieldChange {
            name: field.name,
            change,
        });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::customer::attributes::RESERVED_FIELDS;

    fn update(json: &str) -> Result<CustomerUpdate<'_>, NeverAccepted> {
        CustomerUpdate::read_accepted(JsonText::parse(json).unwrap())
    }

    #[test]
    fn update_that_breaks_rules_of_the_api_is_read_whole() {
        let fields: Vec<_> = (0..100).map(|n| format!("\"f{n}\":{n}")).collect();
        let message = format!(
            r#"{{"version":1,"customerId":"","customerData":{{"email":{{"a":[1]}},"zip":null,{}}}}}"#,
            fields.join(",")
        );
        assert!(CustomerUpdate::parse(JsonText::parse(&message).unwrap()).is_err());
        let read = update(&message).unwrap();
        assert_eq!(read.customer_id(), "");
        assert_eq!(read.changes().len(), 102);
        assert!(
            matches!(read.changes()[0].change, Change::Set(value) if value.as_str() == r#"{"a":[1]}"#)
        );
        assert_eq!(read.changes()[1].change, Change::Remove);
    }

    #[test]
    fn text_that_is_no_update_of_any_rules_was_never_accepted() {
        let of = |profile: &str| format!(r#"{{"customerId":"c","customerData":{profile}}}"#);
        let reserved = RESERVED_FIELDS.iter().chain(&["fence:zip"]);
        let reserved = reserved.map(|name| of(&format!(r#"{{"{name}":"x"}}"#)));
        let others = [
            "17".to_owned(),
            "{}".to_owned(),
            r#"{"customerId":"c"}"#.to_owned(),
            r#"{"customerData":{}}"#.to_owned(),
            r#"{"customerId":null,"customerData":{}}"#.to_owned(),
            of("null"),
            of("[]"),
            of(r#"{"a":1,"a":1}"#),
            of(r#"{"a":1e999}"#),
            of(r#"{"a":"\ud800"}"#),
        ];
        for foreign in reserved.chain(others) {
            assert!(update(&foreign).is_err(), "{foreign}");
        }
    }
}
