//! One customer: what to change of the stored profile.

use std::borrow::Cow;

use crate::fault::{Fault, FaultCode, Faults, Violation, Warning, Warnings};
use crate::identifier::{PlaceholderPolicy, read_identifier};
use crate::json::{Field, JsonText, Object, Value};
use crate::limits::{
    PROFILE_VALUE_CHARS, REPORTED_PER_REQUEST, UNDOCUMENTED_NAME_CHARS, UNDOCUMENTED_PER_REQUEST,
    UNDOCUMENTED_VALUE_CHARS,
};
use crate::place::Path;
use crate::resemblance::documented_name_like;
use crate::storable::StorableJson;

/// The fields of customerData that are in the contract.
pub const DOCUMENTED: [&str; 10] =
    ["email", "phoneNumber", "firstName", "lastName", "gender", "dob", "city", "state", "country", "zip"];

/// Names that the stored item uses for itself.
pub const RESERVED: [&str; 6] = ["pk", "accountId", "customerId", "createdAt", "updatedAt", "expiresAt"];

/// The most changes that an update can have: more are rejected, as duplicates or as too many, and need not be kept.
const MOST_CHANGES: usize = DOCUMENTED.len() + UNDOCUMENTED_PER_REQUEST;

/// An update of one customer that obeys every rule of the contract.
#[derive(Debug)]
pub struct CustomerUpdate<'a> {
    /// Who.
    pub customer_id: Cow<'a, str>,
    /// What becomes of the profile, field by field. No name appears twice.
    pub changes: Vec<(Cow<'a, str>, Change<'a>)>,
    /// Fields that are not in the contract.
    pub warnings: Vec<Warning>,
}

/// What becomes of one field of the profile (RFC 7396).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// It gets this value.
    Set(StorableJson<'a>),
    /// It goes.
    Remove,
}

impl<'a> CustomerUpdate<'a> {
    /// Reads an update.
    ///
    /// # Errors
    /// Every error in it; the first hundred, should there be more.
    pub fn parse(text: JsonText<'a>) -> Result<Self, Vec<Fault>> {
        let mut builder = Builder::new();
        match text.value() {
            Value::Object(envelope) => builder.read_envelope(envelope),
            _ => builder.errors.add(&Path::Root, FaultCode::InvalidType, "must be an object"),
        }
        builder.build()
    }
}

/// An update as far as it was read.
struct Builder<'a> {
    has_customer_id: bool,
    has_profile: bool,
    customer_id: Option<Cow<'a, str>>,
    changes: Vec<(Cow<'a, str>, Change<'a>)>,
    undocumented: usize,
    errors: Faults,
    warnings: Warnings,
}

impl<'a> Builder<'a> {
    fn new() -> Self {
        Self {
            has_customer_id: false,
            has_profile: false,
            customer_id: None,
            changes: Vec::new(),
            undocumented: 0,
            errors: Faults::keeping(REPORTED_PER_REQUEST),
            warnings: Warnings::keeping(REPORTED_PER_REQUEST),
        }
    }

    fn read_envelope(&mut self, envelope: Object<'a>) {
        let mut fields = envelope.fields(&Path::Root);
        while let Some(field) = fields.next(&mut self.errors) {
            let path = field.path();
            match (field.name.as_ref(), field.value) {
                (_, Value::Null) => {}
                ("customerId", value) => {
                    self.has_customer_id = true;
                    let customer_id = read_identifier(value, PlaceholderPolicy::Reject);
                    self.customer_id = self.errors.check(&path, customer_id);
                }
                ("customerData", value) => {
                    self.has_profile = true;
                    match value {
                        Value::Object(profile) => self.read_profile(profile, &path),
                        _ => self.errors.add(&path, FaultCode::InvalidType, "must be an object"),
                    }
                }
                _ => self.warnings.add(&path, || "is not in the contract; it was ignored"),
            }
        }
        for (is_there, name) in [(self.has_customer_id, "customerId"), (self.has_profile, "customerData")] {
            if !is_there {
                self.errors.add(&Path::Member(&Path::Root, name), FaultCode::Required, "is required");
            }
        }
    }

    fn read_profile(&mut self, profile: Object<'a>, path: &Path<'_>) {
        let mut fields = profile.fields(path);
        while let Some(field) = fields.next(&mut self.errors) {
            let name = field.name.as_ref();
            let change = if DOCUMENTED.contains(&name) {
                self.errors.check(&field.path(), read_documented(field.value))
            } else if RESERVED.contains(&name) {
                let message = "is a name that the stored customer uses for itself";
                self.errors.add(&field.path(), FaultCode::ReservedName, message);
                None
            } else {
                self.read_undocumented(&field)
            };
            if self.changes.len() < MOST_CHANGES {
                self.changes.extend(change.map(|change| (field.name, change)));
            }
        }
        if self.undocumented > UNDOCUMENTED_PER_REQUEST {
            let message = format!(
                "must have at most {UNDOCUMENTED_PER_REQUEST} members that are not in the contract; {} were sent",
                self.undocumented
            );
            self.errors.add(path, FaultCode::TooLarge, message);
        }
    }

    fn read_undocumented(&mut self, field: &Field<'a, '_>) -> Option<Change<'a>> {
        let path = field.path();
        self.undocumented = self.undocumented.saturating_add(1);
        self.warnings.add(&path, || match documented_name_like(&field.name) {
            Some(like) => format!("is not in the contract; it is stored as it was sent. Did you mean {like}?"),
            None => "is not in the contract; it is stored as it was sent".to_owned(),
        });
        let chars = field.name.chars().count();
        if chars > UNDOCUMENTED_NAME_CHARS {
            let message =
                format!("must have a name of at most {UNDOCUMENTED_NAME_CHARS} characters; {chars} were sent");
            self.errors.add(&path, FaultCode::TooLong, message);
        }
        if field.value.is_null() {
            return Some(Change::Remove);
        }
        let value = StorableJson::validate(field.value, 0, &path, &mut self.errors);
        let chars = field.value.text().chars().count();
        if chars > UNDOCUMENTED_VALUE_CHARS {
            let message = format!("must have at most {UNDOCUMENTED_VALUE_CHARS} characters of JSON; {chars} were sent");
            self.errors.add(&path, FaultCode::TooLong, message);
        }
        value.map(Change::Set)
    }

    fn build(self) -> Result<CustomerUpdate<'a>, Vec<Fault>> {
        match self.customer_id {
            Some(customer_id) if self.errors.is_empty() => {
                let warnings = self.warnings.into_kept(&Path::Root);
                Ok(CustomerUpdate { customer_id, changes: self.changes, warnings })
            }
            _ => Err(self.errors.into_kept()),
        }
    }
}

fn read_documented(value: Value<'_>) -> Result<Change<'_>, Violation> {
    let string = match value {
        Value::Null => return Ok(Change::Remove),
        Value::String(string) => string,
        _ => return Err(Violation::new(FaultCode::InvalidType, "must be a string or null")),
    };
    let chars = string.decode()?.chars().count();
    if chars > PROFILE_VALUE_CHARS {
        let message = format!("must have at most {PROFILE_VALUE_CHARS} characters; {chars} were sent");
        return Err(Violation::new(FaultCode::TooLong, message));
    }
    Ok(Change::Set(StorableJson::try_from(string)?))
}

#[cfg(test)]
#[path = "customer_tests.rs"]
mod tests;
