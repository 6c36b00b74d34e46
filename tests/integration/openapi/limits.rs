//! The limits and the names of fields are those of the code.

use std::collections::BTreeSet;

use aws::cause::Cause;
use customers::CustomerResult;
use model::customer::{FENCE_PREFIX, PROFILE_FIELDS, RESERVED_FIELDS};
use model::limits::{
    MAX_BODY_BYTES, MAX_ERRORS_PER_SIGNAL, MAX_IDENTIFIER_CHARS, MAX_PROFILE_VALUE_CHARS,
    MAX_SIGNAL_BYTES, MAX_SIGNALS_PER_REQUEST, MAX_UNKNOWN_FIELDS, MAX_UNKNOWN_NAME_CHARS,
    MAX_UNKNOWN_VALUE_CHARS,
};
use serde_json::json;

use super::document::Document;

#[test]
fn limits_equal_those_of_the_code() {
    let document = Document::read();
    let limits = [
        ("requestBodies/Customer/x-max-bytes", MAX_BODY_BYTES),
        ("requestBodies/Signals/x-max-bytes", MAX_BODY_BYTES),
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
    let reserved = json!([{"enum": RESERVED_FIELDS}, {"pattern": format!("^{FENCE_PREFIX}")}]);
    assert_eq!(profile["propertyNames"]["not"]["anyOf"], reserved);
    let results = [
        CustomerResult::Created,
        CustomerResult::Updated,
        CustomerResult::Deferred(Cause::Throttled.into()),
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
