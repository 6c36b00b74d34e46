//! Validation of one customer update.

use super::attributes::RESERVED_FIELDS;
use super::*;

fn parse(json: &str) -> Result<CustomerUpdate<'_>, Vec<FieldError>> {
    CustomerUpdate::parse(JsonText::parse(json).unwrap())
}

fn errors(json: &str) -> Vec<(String, &'static str)> {
    parse(json)
        .expect_err(json)
        .into_iter()
        .map(|error| (error.at.pointer, error.code.as_str()))
        .collect()
}

fn data(fields: &str) -> String {
    format!(r#"{{"customerId":"c","customerData":{{{fields}}}}}"#)
}

#[test]
fn missing_or_null_field_of_the_envelope_is_required() {
    assert_eq!(
        errors("{}"),
        [
            ("/customerId".into(), "required"),
            ("/customerData".into(), "required")
        ]
    );
    assert_eq!(
        errors(r#"{"customerId":null,"customerData":null}"#).len(),
        2
    );
    assert_eq!(
        errors(r#"{"customerId":"c","customerData":[]}"#),
        [("/customerData".into(), "invalid-type")]
    );
    assert_eq!(errors("\"c\""), [(String::new(), "invalid-type")]);
}

#[test]
fn invalid_field_that_appears_twice_has_one_error_of_each_code() {
    let duplicate = |pointer: &str| (pointer.to_owned(), "duplicate-member");
    assert_eq!(
        errors(r#"{"customerId":7,"customerId":8,"customerData":{}}"#),
        [
            ("/customerId".into(), "invalid-type"),
            duplicate("/customerId")
        ]
    );
    let email = |chars: usize| format!("\"email\":\"{}\"", "x".repeat(chars));
    assert_eq!(
        errors(&data(&[email(1025), email(1026), email(1)].join(","))),
        [
            ("/customerData/email".into(), "too-long"),
            duplicate("/customerData/email"),
        ]
    );
    // So has a field whose name and value break the same rule.
    let name = "x".repeat(65);
    let value = "y".repeat(1025);
    assert_eq!(
        errors(&data(&format!("\"{name}\":\"{value}\""))),
        [(format!("/customerData/{name}"), "too-long")]
    );
}

#[test]
fn profile_field_of_another_type_is_rejected() {
    assert_eq!(
        errors(&data(r#""email":1,"zip":{"a":"1"},"city":"\ud800""#)),
        [
            ("/customerData/email".into(), "invalid-type"),
            ("/customerData/zip".into(), "invalid-type"),
            ("/customerData/city".into(), "invalid-type"),
        ]
    );
}

#[test]
fn reserved_field_name_is_rejected() {
    for name in RESERVED_FIELDS {
        assert_eq!(
            errors(&data(&format!("\"{name}\":null"))),
            [(format!("/customerData/{name}"), "reserved-name")]
        );
    }
}

#[test]
fn field_over_its_limit_in_characters_is_too_long() {
    let text = |chars: usize| format!("\"{}\"", "ü".repeat(chars));
    assert!(parse(&data(&format!("\"email\":{}", text(1024)))).is_ok());
    assert_eq!(
        errors(&data(&format!("\"email\":{}", text(1025)))),
        [("/customerData/email".into(), "too-long")]
    );
    assert!(parse(&data(&format!("\"tier\":{}", text(1022)))).is_ok());
    assert_eq!(
        errors(&data(&format!("\"tier\":{}", text(1023)))),
        [("/customerData/tier".into(), "too-long")]
    );
    assert!(parse(&data(&format!("{}:1", text(64)))).is_ok());
    let (_, code) = errors(&data(&format!("{}:1", text(65)))).remove(0);
    assert_eq!(code, "too-long");
}

#[test]
fn more_than_twenty_unknown_fields_are_rejected() {
    let many = |count: usize| {
        let fields: Vec<_> = (0..count).map(|n| format!("\"x{n}\":{n}")).collect();
        data(&fields.join(","))
    };
    assert_eq!(parse(&many(20)).unwrap().warnings.len(), 20);
    assert_eq!(errors(&many(21)), [("/customerData".into(), "too-large")]);
}

#[test]
fn missing_field_of_the_envelope_is_named_beside_the_one_that_was_sent() {
    let errors = parse(r#"{"customer_id":"c","source":"web","customerdata":{}}"#).unwrap_err();
    let expected = [
        "customerId is required; did you write customer_id for customerId?",
        "customerData is required; did you write customerdata for customerData?",
    ];
    let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(messages, expected);
}

#[test]
fn error_of_an_envelope_says_what_the_client_probably_sent() {
    let first = |body: &str| parse(body).unwrap_err().remove(0).message;
    for (body, message) in [
        (
            r#"[{"customerId":"c","customerData":{}}]"#,
            "The body must be an object: send one customer in each request.",
        ),
        (
            r#"{"customers":[{"customerId":"c","customerData":{}}]}"#,
            "customerId is required: send one customer in each request.",
        ),
        (
            r#"{"signals":[]}"#,
            "customerId is required: this is a batch of signals, not an update of a customer.",
        ),
        (
            r#""{\"customerId\":\"c\",\"customerData\":{}}""#,
            "The body must be an object, not a string: it seems to be encoded as JSON twice.",
        ),
        (r#""c""#, "The body must be an object."),
        (
            r#"{"customerId":"c","email":"a@example.com"}"#,
            "customerData is required: put the fields of the profile into it.",
        ),
        (
            r#"{"customerId":"c","customerData":[]}"#,
            "customerData must be an object; PHP writes an empty array as [], so write (object)[] there.",
        ),
        (
            r#"{"customerId":"c","customerData":"{\"email\":\"a\"}"}"#,
            "customerData must be an object, not a string: it seems to be encoded as JSON twice.",
        ),
        (
            r#"{"customerId":"c","customerData":["a"]}"#,
            "customerData must be an object.",
        ),
    ] {
        assert_eq!(first(body), message);
    }
    let beside = r#"{"customerId":"c","customerData":{},"email":"a","phone":"1"}"#;
    let warnings = parse(beside).unwrap().warnings;
    let like = warnings
        .iter()
        .map(|warning| warning.message.rsplit_once(". ").unwrap().1);
    let expected = [
        "Did you mean customerData.email?",
        "Did you mean customerData.phoneNumber?",
    ];
    assert_eq!(like.collect::<Vec<_>>(), expected);
}

#[test]
fn limit_that_counts_escapes_says_so_where_there_are_some() {
    let message = |value: &str| {
        let body = data(&format!("\"tier\":\"{value}\""));
        parse(&body).unwrap_err().remove(0).message
    };
    let limit = "customerData.tier must have at most 1024 characters of JSON";
    assert_eq!(
        message(&"x".repeat(1023)),
        format!("{limit}; 1025 were sent.")
    );
    assert_eq!(
        message(&"\\u00e9".repeat(200)),
        format!("{limit}, with each escape such as \\u00e9 as it was sent; 1202 were sent.")
    );
}
