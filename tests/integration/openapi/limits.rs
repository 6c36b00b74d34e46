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
    let limit = |pointer: &str| {
        let value = document.at(&format!("/components/{pointer}"));
        usize::try_from(value.as_u64().unwrap()).unwrap()
    };
    assert_eq!(limit("requestBodies/Customer/x-max-bytes"), MAX_BODY_BYTES);
    assert_eq!(limit("requestBodies/Signals/x-max-bytes"), MAX_BODY_BYTES);
    assert_eq!(limit("schemas/Signal/x-max-bytes"), MAX_SIGNAL_BYTES);
    assert_eq!(
        limit("schemas/SignalBatch/properties/signals/maxItems"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/SignalsStored/properties/received/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/SignalsStored/properties/accepted/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/SignalsStored/properties/rejected/maximum"),
        MAX_SIGNALS_PER_REQUEST - 1
    );
    assert_eq!(
        limit("schemas/BatchRejected/allOf/1/properties/received/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/BatchRejected/allOf/1/properties/rejected/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/FieldErrors/maxItems"),
        MAX_SIGNALS_PER_REQUEST * MAX_ERRORS_PER_SIGNAL
    );
    assert_eq!(limit("schemas/Identifier/maxLength"), MAX_IDENTIFIER_CHARS);
    assert_eq!(
        limit("schemas/ProfileValue/maxLength"),
        MAX_PROFILE_VALUE_CHARS
    );
    let profile = "schemas/CustomerData";
    assert_eq!(
        limit(&format!("{profile}/propertyNames/maxLength")),
        MAX_UNKNOWN_NAME_CHARS
    );
    assert_eq!(
        limit(&format!("{profile}/maxProperties")),
        PROFILE_FIELDS.len() + MAX_UNKNOWN_FIELDS
    );
    assert_eq!(
        limit(&format!("{profile}/x-max-json-characters-of-other-fields")),
        MAX_UNKNOWN_VALUE_CHARS
    );
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
