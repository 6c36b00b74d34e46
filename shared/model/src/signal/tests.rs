//! The rules of one signal, its errors and its warnings.

use super::*;
use crate::json::JsonText;
use crate::limits::{MAX_NAME_BYTES, MAX_SIGNAL_BYTES};

const FLOW: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

fn read_one(json: &str) -> Result<Signal<'_>, RejectedSignal<'_>> {
    let path = JsonPointer::Member(&JsonPointer::Root, "signals");
    Signal::parse(
        JsonText::parse(json).unwrap().value(),
        3,
        &JsonPointer::Element(&path, 3),
    )
}

fn accepted(json: &str) -> Signal<'_> {
    read_one(json).unwrap_or_else(|rejected| panic!("{json}: {:?}", rejected.errors))
}

/// The pointers and codes of the validation errors of a signal.
fn errors(json: &str) -> Vec<(String, &'static str)> {
    let rejected = read_one(json).expect_err(json);
    assert_eq!(rejected.payload, json);
    rejected
        .errors
        .into_iter()
        .map(|error| {
            let pointer = error.at.pointer.strip_prefix("/signals/3").unwrap();
            (pointer.to_owned(), error.code.as_str())
        })
        .collect()
}

#[test]
fn null_field_counts_as_absent() {
    let signal = accepted(
        r#"{"customerId":"c","eventType":"t","emitterId":null,"stepNodeId":null,"eventflowIdentifier":null,"extra":null}"#,
    );
    assert!(signal.unknown_fields().is_none());
    assert_eq!(
        errors(r#"{"customerId":null,"eventType":"t"}"#),
        [("/customerId".into(), "required")]
    );
}

#[test]
fn unknown_field_whose_name_is_longer_than_dynamodb_stores_is_rejected() {
    let signal =
        |name: &str| format!(r#"{{"customerId":"c","eventType":"t","{name}":1,"data":null}}"#);
    let longest = "n".repeat(MAX_NAME_BYTES);
    accepted(&signal(&longest));
    assert_eq!(
        errors(&signal(&format!("{longest}n"))),
        [(String::new(), "too-large")]
    );
}

#[test]
fn invalid_field_that_appears_twice_is_reported_once() {
    assert_eq!(
        errors(r#"{"customerId":1,"eventType":"t","customerId":2,"data":{"a":1e999,"a":2e999}}"#),
        [
            ("/customerId".into(), "invalid-type"),
            ("/data/a".into(), "number-out-of-range"),
            ("/data/a".into(), "duplicate-member"),
            ("/customerId".into(), "duplicate-member"),
        ]
    );
}

#[test]
fn signal_without_exactly_one_complete_pair_is_rejected() {
    assert_eq!(errors("{}"), [(String::new(), "required")]);
    assert_eq!(
        errors(r#"{"customerId":"c"}"#),
        [("/eventType".into(), "required")]
    );
    assert_eq!(
        errors(r#"{"eventType":"t"}"#),
        [("/customerId".into(), "required")]
    );
    assert_eq!(
        errors(r#"{"stepNodeId":"n"}"#),
        [
            ("/emitterId".into(), "required"),
            ("/eventflowIdentifier".into(), "required")
        ]
    );
    assert_eq!(
        errors(r#"{"customerId":"c","stepNodeId":"n"}"#),
        [(String::new(), "ambiguous-identity")]
    );
    assert_eq!(
        errors(r#"{"customerId":"c","eventType":"t","emitterId":"e","stepNodeId":"n"}"#),
        [(String::new(), "ambiguous-identity")]
    );
}

#[test]
fn field_of_another_type_is_an_error() {
    assert_eq!(errors("17"), [(String::new(), "invalid-type")]);
    assert_eq!(errors("[]"), [(String::new(), "invalid-type")]);
    assert_eq!(errors("null"), [(String::new(), "invalid-type")]);
    assert_eq!(
        errors(r#"{"customerId":1,"eventType":{},"data":[],"eventflowIdentifier":"x"}"#),
        [
            ("/customerId".into(), "invalid-type"),
            ("/eventType".into(), "invalid-type"),
            ("/data".into(), "invalid-type"),
            ("/eventflowIdentifier".into(), "invalid-uuid"),
        ]
    );
}

#[test]
fn duplicate_field_at_any_depth_rejects_the_signal() {
    assert_eq!(
        errors(r#"{"customerId":"c","eventType":"t","eventType":"u"}"#),
        [("/eventType".into(), "duplicate-member")]
    );
    assert_eq!(
        errors(r#"{"customerId":"c","eventType":"t","data":{"a":{"b":1,"b":1}}}"#),
        [("/data/a/b".into(), "duplicate-member")]
    );
}

#[test]
fn only_the_first_five_errors_are_reported() {
    let data = (0..9)
        .map(|n| format!("\"n{n}\":1e999"))
        .collect::<Vec<_>>()
        .join(",");
    let signal = format!(r#"{{"customerId":"c","eventType":"t","data":{{{data}}}}}"#);
    assert_eq!(errors(&signal).len(), 5);
}

#[test]
fn signal_over_256_kib_with_padding_is_too_large() {
    let padded = |bytes: usize| {
        let bare = r#"{"customerId":"c","eventType":"t"}"#;
        bare.replace(',', &format!(",{}", " ".repeat(bytes - bare.len())))
    };
    assert_eq!(
        accepted(&padded(MAX_SIGNAL_BYTES)).payload().len(),
        MAX_SIGNAL_BYTES
    );
    assert_eq!(
        errors(&padded(MAX_SIGNAL_BYTES + 1)),
        [(String::new(), "too-large")]
    );
}

#[test]
fn unknown_field_nests_one_level_less_than_data() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let deepest = nested(30);
    accepted(&format!(
        r#"{{"customerId":"c","eventType":"t","data":{{"a":{deepest}}},"x":{deepest}}}"#
    ));
    let too_deep = nested(31);
    let signal = format!(r#"{{"customerId":"c","eventType":"t","x":{too_deep}}}"#);
    let pointer = format!("/x{}", "/0".repeat(30));
    assert_eq!(errors(&signal), [(pointer, "nested-too-deep")]);
}

/// The pointers and messages of the warnings of a signal.
fn warnings(json: &str) -> Vec<(String, String)> {
    let warnings = accepted(json).into_warnings().into_iter();
    warnings
        .map(|warning| {
            (
                warning.at.pointer.replace("/signals/3", ""),
                warning.message,
            )
        })
        .collect()
}

#[test]
fn attribute_of_another_type_in_the_data_of_an_event_has_a_warning() {
    let event = |data: &str| format!(r#"{{"customerId":"c","eventType":"t","data":{{{data}}}}}"#);
    let assert_warning = |data: &str, name: &str, expected: &str| {
        let message =
            format!("signals[3].data.{name} should be {expected}; it is stored as it was sent.");
        assert_eq!(warnings(&event(data)), [(format!("/data/{name}"), message)]);
        assert_eq!(accepted(&event(data)).data.as_str(), format!("{{{data}}}"));
    };
    for data in [r#""price":"49.90""#, r#""price":true"#] {
        assert_warning(data, "price", "a number");
    }
    for (data, name) in [
        (r#""brand":7"#, "brand"),
        (r#""productId":17"#, "productId"),
        (r#""category":["shoes"]"#, "category"),
        (r#""subCategory1":{}"#, "subCategory1"),
        (r#""subCategory2":1"#, "subCategory2"),
        (r#""sub\u0043ategory3":1"#, "subCategory3"),
    ] {
        assert_warning(data, name, "a string");
    }
    let documented = r#""price":1e2,"brand":"","productId":null,"x":{"price":"1"},"Price":"1""#;
    assert_eq!(warnings(&event(documented)), []);
    let step = format!(
        r#"{{"emitterId":"e","stepNodeId":"n","eventflowIdentifier":"{FLOW}","data":{{"price":"1"}}}}"#
    );
    assert_eq!(warnings(&step), []);
}

#[test]
fn unknown_field_that_resembles_one_of_the_contract_is_suggested() {
    let stored = "is not in the contract; it is stored with the signal under undocumented.";
    assert_eq!(
        warnings(r#"{"customerId":"c","eventType":"t","properties":{},"timestamp":1}"#),
        [
            (
                "/properties".to_owned(),
                format!("signals[3].properties {stored} Did you mean data?")
            ),
            (
                "/timestamp".to_owned(),
                format!("signals[3].timestamp {stored} Did you mean data.timestamp?")
            ),
        ]
    );
    let message = |json: &str| read_one(json).unwrap_err().errors[0].message.clone();
    assert_eq!(
        message(r#"{"customer_id":"c","eventType":"t"}"#),
        "signals[3].customerId is required beside eventType; did you write customer_id for customerId?"
    );
    assert_eq!(
        message(r#"{"userId":"c","event":"t","properties":{}}"#),
        "signals[3] must have customerId and eventType, or emitterId and stepNodeId; did you write userId for customerId, \
         event for eventType, properties for data?"
    );
}

#[test]
fn data_that_php_or_a_second_encoding_made_is_told_so() {
    let message = |data: &str| {
        let signal = format!(r#"{{"customerId":"c","eventType":"t","data":{data}}}"#);
        read_one(&signal).unwrap_err().errors[0].message.clone()
    };
    let must = "signals[3].data must be an object or null";
    assert_eq!(
        message("[]"),
        format!("{must}; PHP writes an empty array as [], so write (object)[] there.")
    );
    assert_eq!(
        message(r#""{\"price\":1}""#),
        format!("{must}, not a string: it seems to be encoded as JSON twice.")
    );
    assert_eq!(message("[1]"), format!("{must}."));
}

#[test]
fn limit_of_a_signal_says_that_escapes_count_where_there_are_some() {
    let message = |filler: &str| {
        let data = filler.repeat(MAX_SIGNAL_BYTES / filler.len());
        let signal = format!(r#"{{"customerId":"c","eventType":"t","data":{{"a":"{data}"}}}}"#);
        read_one(&signal).unwrap_err().errors[0].message.clone()
    };
    let limit = format!("signals[3] must have at most {MAX_SIGNAL_BYTES} bytes of JSON");
    assert!(message("x").starts_with(&format!("{limit}; ")));
    let escapes = ", with each escape such as \\u00e9 as it was sent; ";
    assert!(message("\\u00e9").starts_with(&format!("{limit}{escapes}")));
}

#[test]
fn doubtful_identifier_of_each_field_has_a_warning() {
    let warnings = |json: &str| {
        let warnings = accepted(json).into_warnings().into_iter();
        let shown = warnings.map(|warning| (warning.at.pointer, warning.code.as_str()));
        shown.collect::<Vec<_>>()
    };
    assert_eq!(
        warnings(r#"{"customerId":"true","eventType":"login "}"#),
        [
            ("/signals/3/customerId".to_owned(), "doubtful-identifier"),
            ("/signals/3/eventType".to_owned(), "surrounding-white-space"),
        ]
    );
    let step = format!(
        r#"{{"emitterId":"{{{{ id }}}}","stepNodeId":"true","eventflowIdentifier":"{FLOW}"}}"#
    );
    assert_eq!(
        warnings(&step),
        [("/signals/3/emitterId".to_owned(), "doubtful-identifier")]
    );
}
