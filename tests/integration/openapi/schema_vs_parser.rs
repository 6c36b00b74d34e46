//! The schemas of openapi.yaml against the parser, on texts by chance: what one accepts the other accepts, but for the
//! few rules that a schema cannot say.

use model::batch::Batch;
use model::customer::CustomerUpdate;
use model::json::{JsonText, Token};
use model::validation::{FieldError, FieldErrorCode};
use proptest::prelude::*;
use serde_json::Value;

use super::document::Document;
use crate::properties::{hold, strategies};

/// Rules about the text: a reader of JSON values cannot see whether they are kept.
const BEYOND_A_SCHEMA: [FieldErrorCode; 3] =
    [FieldErrorCode::DuplicateMember, FieldErrorCode::TooManyDigits, FieldErrorCode::NestedTooDeep];

/// The value that a general reader makes of `text`, unless it is another one: by a number that a float does not hold.
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

/// Fails if the parser finds no fault where the schema does, or the other way round.
fn agree(errors: &[FieldError], by_schema: &[String], beyond: &[FieldErrorCode]) -> Result<(), TestCaseError> {
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
    hold(1_000, strategies::signal(), |signal| {
        let Some(value) = value_of(&signal) else { return Ok(()) };
        let request = format!("{{\"signals\":[{signal}]}}");
        let batch = Batch::parse(JsonText::parse(&request).unwrap()).unwrap();
        let errors: Vec<_> = batch.rejected.into_iter().flat_map(|rejected| rejected.errors).collect();
        agree(&errors, &Document::errors_by(&validator, &value), &BEYOND_A_SCHEMA)
    });
}

#[test]
fn customer_is_valid_for_the_schema_and_the_parser_alike() {
    let document = Document::read();
    let validator = document.validator(document.schema("CustomerUpdate"));
    // How long an undocumented member is as JSON text is beyond a schema as well.
    let beyond = [&BEYOND_A_SCHEMA[..], &[FieldErrorCode::TooLong]].concat();
    hold(1_000, strategies::customer("c"), |(_, request)| {
        let Some(value) = value_of(&request) else { return Ok(()) };
        let parsed = CustomerUpdate::parse(JsonText::parse(&request).unwrap());
        agree(&parsed.err().unwrap_or_default(), &Document::errors_by(&validator, &value), &beyond)
    });
}
