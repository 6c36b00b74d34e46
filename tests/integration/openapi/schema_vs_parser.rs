//! The schemas of openapi.yaml and the parser accept the same random JSON texts, except for a few rules that a schema cannot
//! express.

use model::batch::Batch;
use model::customer::CustomerUpdate;
use model::json::{JsonText, Token};
use model::validation::{FieldError, FieldErrorCode};
use proptest::prelude::*;
use serde_json::Value;

use super::document::Document;
use crate::properties::{check, strategies};

/// Rules about the JSON text, which a validator of parsed values cannot check.
const RULES_OF_THE_TEXT: [FieldErrorCode; 3] =
    [FieldErrorCode::DuplicateMember, FieldErrorCode::TooManyDigits, FieldErrorCode::NestedTooDeep];

/// The value that `serde_json` parses from `text`. `None` where a number does not fit a float.
fn value_of(text: &str) -> Option<Value> {
    for token in JsonText::parse(text).ok()?.value().lexer() {
        if let Token::Number(number) = token {
            let float: f64 = number.parse().ok()?;
            let is_zero = !number.split(['e', 'E']).next()?.contains(|digit| ('1'..='9').contains(&digit));
            if !(is_zero || (1e-129..1e125).contains(&float.abs())) {
                return None;
            }
        }
    }
    serde_json::from_str(text).ok()
}

/// Fails if only one of the parser and the schema finds an error. `beyond` are codes of rules that the schema cannot express.
fn assert_agreement(
    errors: &[FieldError],
    by_schema: &[String],
    beyond: &[FieldErrorCode],
) -> Result<(), TestCaseError> {
    if errors.is_empty() {
        prop_assert_eq!(by_schema, Vec::<String>::new());
    } else if !errors.iter().any(|error| beyond.contains(&error.code)) {
        prop_assert!(!by_schema.is_empty(), "only the parser: {errors:?}");
    }
    Ok(())
}

#[test]
fn signal_is_valid_for_the_schema_and_the_parser_alike() {
    let document = Document::read();
    let validator = document.validator(document.schema("Signal"));
    check(500, strategies::signal(), |signal| {
        let Some(value) = value_of(&signal) else { return Ok(()) };
        let request = format!("{{\"signals\":[{signal}]}}");
        let batch = Batch::parse(JsonText::parse(&request).unwrap()).unwrap();
        let errors: Vec<_> = batch.rejected.into_iter().flat_map(|rejected| rejected.errors).collect();
        assert_agreement(&errors, &Document::errors_by(&validator, &value), &RULES_OF_THE_TEXT)
    });
}

#[test]
fn customer_is_valid_for_the_schema_and_the_parser_alike() {
    let document = Document::read();
    let validator = document.validator(document.schema("CustomerUpdate"));
    // A schema cannot limit the length of an unknown field's JSON text either.
    let beyond = [&RULES_OF_THE_TEXT[..], &[FieldErrorCode::TooLong]].concat();
    check(500, strategies::customer("c"), |(_, request)| {
        let Some(value) = value_of(&request) else { return Ok(()) };
        let parsed = CustomerUpdate::parse(JsonText::parse(&request).unwrap());
        assert_agreement(&parsed.err().unwrap_or_default(), &Document::errors_by(&validator, &value), &beyond)
    });
}
