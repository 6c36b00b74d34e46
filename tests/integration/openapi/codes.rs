//! The codes of problems, field errors and warnings are those of the code.

use std::collections::BTreeSet;

use model::validation::{FieldErrorCode, WarningCode};
use serde_json::json;
use service::problem::ProblemType;

use super::document::Document;

/// Every problem type, in the order of docs/api.md: those of all endpoints, and those of one.
pub(crate) fn problem_types() -> Vec<ProblemType> {
    let mut all = ProblemType::ALL.to_vec();
    all.extend(signals::signals_problems::PROBLEM_TYPES);
    all.extend(customers::customers_problems::PROBLEM_TYPES);
    all.sort_by_key(|kind| kind.status);
    all
}

#[test]
fn problem_codes_are_listed_with_examples_at_their_status() {
    let document = Document::read();
    let problem_types = problem_types();
    let mut shown = BTreeSet::new();
    for operation in document.operations() {
        for example in document.responses(&operation) {
            if example.media_type == "application/problem+json" {
                let code = example.value["code"].as_str().unwrap();
                shown.insert(format!("{} {code}", example.status));
            }
        }
    }
    let in_code: BTreeSet<_> = problem_types
        .iter()
        .map(|kind| format!("{} {}", kind.status, kind.code))
        .collect();
    assert_eq!(shown, in_code);
    let codes: BTreeSet<_> = problem_types
        .iter()
        .map(|kind| kind.code.to_owned())
        .collect();
    let listed = document.texts_at("/components/schemas/Problem/properties/code/examples");
    assert_eq!(listed, codes);
    let statuses: BTreeSet<_> = problem_types.iter().map(|kind| kind.status).collect();
    assert_eq!(
        document.schema("Problem")["properties"]["status"]["enum"],
        json!(statuses)
    );
}

#[test]
fn field_error_codes_are_listed_with_examples() {
    let document = Document::read();
    let codes: BTreeSet<_> = FieldErrorCode::ALL
        .iter()
        .map(|code| code.as_str().to_owned())
        .collect();
    let listed = document.texts_at("/components/schemas/FieldError/properties/code/examples");
    assert_eq!(listed, codes);
    assert_eq!(shown_codes(&document, "fieldErrors"), codes);
}

#[test]
fn warning_codes_are_listed_with_examples() {
    let document = Document::read();
    let codes: BTreeSet<_> = WarningCode::ALL
        .iter()
        .map(|code| code.as_str().to_owned())
        .collect();
    let listed = document.texts_at("/components/schemas/Warning/properties/code/examples");
    assert_eq!(listed, codes);
    assert_eq!(shown_codes(&document, "warnings"), codes);
}

/// The codes in this list of all response examples.
fn shown_codes(document: &Document, list: &str) -> BTreeSet<String> {
    let mut shown = BTreeSet::new();
    for operation in document.operations() {
        for example in document.responses(&operation) {
            let findings = example.value[list].as_array().into_iter().flatten();
            shown.extend(findings.map(|finding| finding["code"].as_str().unwrap().to_owned()));
        }
    }
    shown
}
