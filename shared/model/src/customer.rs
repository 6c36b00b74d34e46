//! An update of one customer: which fields of the stored profile change, and how.

mod accepted_update;
pub mod attributes;

use std::borrow::Cow;

use self::attributes::is_reserved;
use crate::hint;
use crate::identifier::{IdentifierKind, check_identifier};
use crate::json::{Field, JsonText, Object, Value};
use crate::limits::{
    MAX_PROFILE_VALUE_CHARS, MAX_UNKNOWN_FIELDS, MAX_UNKNOWN_NAME_CHARS, MAX_UNKNOWN_VALUE_CHARS,
};
use crate::pointer::JsonPointer;
use crate::storable::StorableJson;
use crate::suggestion::{PROFILE_SYNONYMS, Vocabulary};
use crate::validation::{
    FieldError, FieldErrorCode, FieldErrors, Invalid, Violation, Warning, WarningCode, Warnings,
};

/// The fields of customerData in the contract (docs/api.md, Customers).
pub const PROFILE_FIELDS: [&str; 10] = [
    "email",
    "phoneNumber",
    "firstName",
    "lastName",
    "gender",
    "dob",
    "city",
    "state",
    "country",
    "zip",
];

/// The fields of a request in the contract.
pub(crate) const CUSTOMER: Vocabulary = Vocabulary {
    fields: &["customerId", "customerData"],
    synonyms: &[
        ("customerId", &["userid", "customeridentifier"]),
        ("customerData", &["profile"]),
        ("customerData.email", &["email"]),
        ("customerData.phoneNumber", &["phonenumber", "phone"]),
        ("customerData.firstName", &["firstname"]),
        ("customerData.lastName", &["lastname"]),
        ("customerData.gender", &["gender"]),
        ("customerData.dob", &["dob"]),
        ("customerData.city", &["city"]),
        ("customerData.state", &["state"]),
        ("customerData.country", &["country"]),
        ("customerData.zip", &["zip"]),
    ],
};

/// The fields of customerData in the contract.
pub(crate) const PROFILE: Vocabulary = Vocabulary {
    fields: &PROFILE_FIELDS,
    synonyms: &PROFILE_SYNONYMS,
};

/// The most changes that an update can have: more are rejected, as duplicates or as too many, and
/// need not be kept.
const MAX_CHANGES: usize = PROFILE_FIELDS.len() + MAX_UNKNOWN_FIELDS;

/// An update of one customer that obeys every rule of the contract, or obeyed the rules when it was
/// [accepted](crate::never_accepted).
#[derive(Debug)]
pub struct CustomerUpdate<'a> {
    customer_id: Cow<'a, str>,
    changes: Vec<FieldChange<'a>>,
    warnings: Vec<Warning>,
}

/// A field of the profile, and its change.
#[derive(Debug)]
pub struct FieldChange<'a> {
    pub name: Cow<'a, str>,
    /// What happens to the field.
    pub change: Change<'a>,
}

/// The change of one field of the profile (RFC 7396).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The field gets this value.
    Set(StorableJson<'a>),
    /// The field is removed from the profile.
    Remove,
}

impl<'a> CustomerUpdate<'a> {
    /// Reads the body of a request as an update.
    ///
    /// # Errors
    /// The validation errors of the body, at most the first hundred.
    pub fn parse(text: JsonText<'a>) -> Result<Self, Vec<FieldError>> {
        let body = text.value();
        let Some(envelope) = body.as_object(&JsonPointer::Root) else {
            let message = format!("must be an object{}", hint::of_no_update(body));
            let code = FieldErrorCode::InvalidType;
            return Err(vec![FieldError::new(&JsonPointer::Root, code, &message)]);
        };
        let mut builder = UpdateBuilder::default();
        builder.read(envelope);
        builder.build(body)
    }

    /// The customer.
    pub fn customer_id(&self) -> &str {
        &self.customer_id
    }

    /// The changes, field by field. No name appears twice.
    pub fn changes(&self) -> &[FieldChange<'a>] {
        &self.changes
    }

    /// Drops the changes of the other fields.
    pub fn retain_changes(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.changes.retain(|change| is_kept(&change.name));
    }

    /// The warnings about unknown fields.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// An update while it is read.
#[derive(Default)]
struct UpdateBuilder<'a> {
    /// `None` until the customerId is read, and `Invalid` if its error was added to the others.
    customer_id: Option<Result<Cow<'a, str>, Invalid>>,
    has_profile: bool,
    changes: Vec<FieldChange<'a>>,
    unknown_fields: usize,
    errors: FieldErrors,
    warnings: Warnings,
}

impl<'a> UpdateBuilder<'a> {
    fn read(&mut self, mut envelope: Object<'a, '_>) {
        while let Some(field) = envelope.next_field(&mut self.errors) {
            let path = field.path();
            match field.name.as_ref() {
                _ if field.value.is_null() => {}
                "customerId" => {
                    let id = check_identifier(
                        &field,
                        IdentifierKind::Subject,
                        &mut self.errors,
                        &mut self.warnings,
                    );
                    self.customer_id = Some(id);
                }
                "customerData" => self.read_profile(field.value, &path),
                name => CUSTOMER.warn_ignored(name, &path, &mut self.warnings),
            }
        }
    }

    fn read_profile(&mut self, profile: Value<'a>, path: &JsonPointer<'_>) {
        self.has_profile = true;
        if let Some(fields) = profile.as_object(path) {
            self.read_profile_fields(fields, path);
        } else {
            let message = format!("must be an object{}", hint::of_no_object(profile));
            self.errors.add(path, FieldErrorCode::InvalidType, message);
        }
    }

    fn read_profile_fields(&mut self, mut fields: Object<'a, '_>, path: &JsonPointer<'_>) {
        while let Some(field) = fields.next_field(&mut self.errors) {
            let name = field.name.as_ref();
            let change = if PROFILE_FIELDS.contains(&name) {
                let valid = self
                    .errors
                    .check(&field.path(), check_profile_field(field.value));
                valid.ok().and_then(|()| self.change(&field))
            } else if is_reserved(name) {
                let message = "is a reserved field name";
                self.errors
                    .add(&field.path(), FieldErrorCode::ReservedName, message);
                None
            } else {
                self.read_unknown_field(&field)
            };
            let Some(change) = change else {
                continue;
            };
            if self.changes.len() < MAX_CHANGES {
                let name = field.name;
                self.changes.push(FieldChange { name, change });
            }
        }
        if self.unknown_fields > MAX_UNKNOWN_FIELDS {
            let message = format!(
                "must have at most {MAX_UNKNOWN_FIELDS} members that are not in the contract; {} were sent",
                self.unknown_fields
            );
            self.errors.add(path, FieldErrorCode::TooLarge, message);
        }
    }

    fn read_unknown_field(&mut self, field: &Field<'a, '_>) -> Option<Change<'a>> {
        let path = field.path();
        self.unknown_fields += 1;
        let predicate = if field.value.is_null() {
            "is not in the contract; null removes it"
        } else {
            "is not in the contract; it is stored as it was sent"
        };
        self.warnings
            .add(&path, WarningCode::UndocumentedMember, || {
                PROFILE.warning(predicate, &field.name)
            });
        let chars = field.name.chars().count();
        if chars > MAX_UNKNOWN_NAME_CHARS {
            let message = format!(
                "must have a name of at most {MAX_UNKNOWN_NAME_CHARS} characters; {chars} were sent"
            );
            self.errors.add(&path, FieldErrorCode::TooLong, message);
        }
        let change = self.change(field);
        let chars = field.value.text().chars().count();
        if chars > MAX_UNKNOWN_VALUE_CHARS {
            let escapes = hint::of_escapes(field.value.text());
            let message = format!(
                "must have at most {MAX_UNKNOWN_VALUE_CHARS} characters of JSON{escapes}; {chars} were sent"
            );
            self.errors.add(&path, FieldErrorCode::TooLong, message);
        }
        change
    }

    fn change(&mut self, field: &Field<'a, '_>) -> Option<Change<'a>> {
        if field.value.is_null() {
            return Some(Change::Remove);
        }
        StorableJson::validate(field.value, 0, &field.path(), &mut self.errors);
        // After any error, the update is rejected, and its changes are not used.
        self.errors
            .is_empty()
            .then(|| Change::Set(StorableJson::validated(field.value)))
    }

    fn build(mut self, body: Value<'a>) -> Result<CustomerUpdate<'a>, Vec<FieldError>> {
        if self.customer_id.is_none() {
            let hint = hint::of_no_customer(body);
            CUSTOMER.report_missing("customerId", body, hint, &mut self.errors);
        }
        if !self.has_profile {
            let hint = hint::of_no_profile(body, &PROFILE_FIELDS);
            CUSTOMER.report_missing("customerData", body, hint, &mut self.errors);
        }
        if !self.errors.is_empty() {
            return Err(self.errors.into_vec());
        }
        let customer_id = self
            .customer_id
            .and_then(Result::ok)
            .expect("without errors there is a valid customerId");
        Ok(CustomerUpdate {
            customer_id,
            changes: self.changes,
            warnings: self.warnings.into_vec(&JsonPointer::Root),
        })
    }
}

/// A profile field is a string of limited length, or null.
fn check_profile_field(value: Value<'_>) -> Result<(), Violation> {
    if value.is_null() {
        return Ok(());
    }
    let invalid_type = || Violation::new(FieldErrorCode::InvalidType, "must be a string or null");
    let chars = value
        .as_string()
        .ok_or_else(invalid_type)?
        .decode()?
        .chars()
        .count();
    if chars > MAX_PROFILE_VALUE_CHARS {
        let message =
            format!("must have at most {MAX_PROFILE_VALUE_CHARS} characters; {chars} were sent");
        return Err(Violation::new(FieldErrorCode::TooLong, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
