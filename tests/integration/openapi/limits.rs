//! The limits and the names of fields are those of the code.

use std::collections::BTreeSet;

use aws::call_error::CallError;
use customers::CustomerResult;
use model::customer::PROFILE_FIELDS;
use model::customer::attributes::{FENCE_PREFIX, RESERVED_FIELDS};
use model::identifier::is_blank_or_placeholder;
use model::limits::{
    MAX_BODY_BYTES, MAX_ERRORS_PER_SIGNAL, MAX_IDENTIFIER_CHARS, MAX_PROFILE_VALUE_CHARS,
    MAX_SIGNAL_BYTES, MAX_SIGNALS_PER_REQUEST, MAX_UNKNOWN_FIELDS, MAX_UNKNOWN_NAME_CHARS,
    MAX_UNKNOWN_VALUE_CHARS,
};
use serde_json::json;
use store::error::StoreError;

use super::document::Document;

#[test]
fn limits_equal_those_of_the_code() {
    let document = Document::read();
    let limits = [
        ("schemas/Signal/x-max-bytes", MAX_SIGNAL_BYTES),
        (
            "schemas/SignalBatch/properties/signals/maxItems",
            MAX_SIGNALS_PER_REQUEST,
        ),
        (
            "schemas/SignalsStored/properties/received/maximum",
            MAX_SIGNALS_PER_REQUEST,
        ),
        (
            "schemas/SignalsStored/properties/accepted/maximum",
            MAX_SIGNALS_PER_REQUEST,
        ),
        (
            "schemas/SignalsStored/properties/rejected/maximum",
            MAX_SIGNALS_PER_REQUEST - 1,
        ),
        (
            "schemas/BatchRejected/allOf/1/properties/received/maximum",
            MAX_SIGNALS_PER_REQUEST,
        ),
        (
            "schemas/BatchRejected/allOf/1/properties/rejected/maximum",
            MAX_SIGNALS_PER_REQUEST,
        ),
        (
            "schemas/FieldErrors/maxItems",
            MAX_SIGNALS_PER_REQUEST * MAX_ERRORS_PER_SIGNAL,
        ),
        ("schemas/Identifier/maxLength", MAX_IDENTIFIER_CHARS),
        ("schemas/ProfileValue/maxLength", MAX_PROFILE_VALUE_CHARS),
        (
            "schemas/CustomerData/propertyNames/maxLength",
            MAX_UNKNOWN_NAME_CHARS,
        ),
        (
            "schemas/CustomerData/maxProperties",
            PROFILE_FIELDS.len() + MAX_UNKNOWN_FIELDS,
        ),
        (
            "schemas/CustomerData/x-max-json-characters-of-other-fields",
            MAX_UNKNOWN_VALUE_CHARS,
        ),
    ];
    for (pointer, limit) in limits {
        let value = document.at(&format!("/components/{pointer}"));
        let documented = usize::try_from(value.as_u64().unwrap()).unwrap();
        assert_eq!(documented, limit, "{pointer}");
    }
    for operation in document.operations() {
        if let Some(body) = operation.definition.get("requestBody") {
            assert_eq!(
                body["x-max-bytes"],
                json!(MAX_BODY_BYTES),
                "{}",
                operation.path
            );
        }
    }
}

#[test]
fn profile_and_reserved_names_equal_those_of_the_code() {
    let document = Document::read();
    let profile = document.schema("CustomerData");
    let documented: BTreeSet<_> = profile["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(documented, PROFILE_FIELDS.into());
    assert_eq!(profile["x-reserved-names"], json!(RESERVED_FIELDS));
    assert_eq!(profile["x-reserved-prefix"], FENCE_PREFIX);
    let results = [
        CustomerResult::Created,
        CustomerResult::Updated,
        CustomerResult::Deferred(StoreError::from(CallError::Throttled).into()),
    ];
    assert_eq!(
        document.schema("CustomerStored")["properties"]["result"]["examples"],
        json!(results)
    );
}

#[test]
fn subject_identifier_repeats_the_rules_of_identifier() {
    let document = Document::read();
    let [identifier, subject] =
        ["Identifier", "SubjectIdentifier"].map(|name| document.schema(name));
    for rule in ["type", "maxLength", "pattern"] {
        assert_eq!(identifier[rule], subject[rule], "{rule}");
    }
}

/// It leaves to the functions the invisible characters beyond U+00FF: programs that apply a pattern
/// to bytes would refuse others, too.
#[test]
fn pattern_of_identifiers_refuses_no_identifier_that_the_functions_accept() {
    let document = Document::read();
    let identifier = document.validator(document.schema("Identifier"));
    for c in '\0'..=char::MAX {
        let is_valid = identifier.is_valid(&json!(c.to_string()));
        let is_invisible = is_blank_or_placeholder(&c.to_string());
        let expected = !is_invisible || c > '\u{ff}';
        assert_eq!(is_valid, expected, "{}", c.escape_unicode());
    }
}
