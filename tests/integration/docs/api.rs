//! docs/api.md has the code's limits, codes and profile fields.

use std::collections::BTreeSet;

use model::account::MAX_ACCOUNT_ID_CHARS;
use model::customer::{PROFILE_FIELDS, RESERVED_FIELDS};
use model::limits;
use model::validation::FieldErrorCode;
use service::problem_document::RETRY_AFTER_SECONDS;

use crate::openapi::codes::problem_types;
use crate::support::page::{Page, quoted};

fn api() -> Page {
    Page::read("docs/api.md")
}

/// `number` with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

#[test]
fn limits_are_those_of_the_code() {
    let expected = [
        (limits::MAX_BODY_BYTES, " bytes"),
        (limits::MAX_GZIP_MEMBERS, ""),
        (limits::MAX_SIGNALS_PER_REQUEST, ""),
        (limits::MAX_IDENTIFIER_CHARS, " characters"),
        (limits::MAX_PROFILE_VALUE_CHARS, " characters"),
        (limits::MAX_UNKNOWN_VALUE_CHARS, " characters"),
        (limits::MAX_UNKNOWN_NAME_CHARS, " characters"),
        (limits::MAX_UNKNOWN_FIELDS, ""),
        (limits::MAX_SIGNAL_BYTES, " bytes"),
        (limits::MAX_ERRORS_PER_SIGNAL, ""),
        (limits::MAX_ERRORS_PER_REQUEST, ""),
        (limits::MAX_POINTER_BYTES, " bytes"),
        (limits::MAX_NUMBER_DIGITS, ""),
        (limits::MAX_NESTING_DEPTH, ""),
        (MAX_ACCOUNT_ID_CHARS, " characters"),
        (usize::from(RETRY_AFTER_SECONDS), ""),
    ];
    let documented: Vec<_> = api()
        .table("Limits", "what")
        .into_iter()
        .map(|row| row[1].clone())
        .collect();
    assert_eq!(
        documented,
        expected.map(|(limit, unit)| format!("{}{unit}", grouped(limit)))
    );
}

#[test]
fn error_codes_and_statuses_are_those_of_the_code() {
    let rows = api().table("Errors", "status | code");
    let documented: Vec<_> = rows
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let in_code: Vec<_> = problem_types()
        .iter()
        .map(|kind| (kind.status.to_string(), kind.code.to_owned()))
        .collect();
    assert_eq!(documented, in_code);
}

#[test]
fn codes_of_field_errors_are_those_of_the_code() {
    let documented: Vec<_> = api()
        .table("Errors", "code | meaning")
        .into_iter()
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    assert_eq!(
        documented,
        FieldErrorCode::ALL
            .iter()
            .map(|code| code.as_str())
            .collect::<Vec<_>>()
    );
}

#[test]
fn every_profile_field_and_every_reserved_name_is_listed() {
    let page = api();
    let words: Vec<_> = page.section("Customers").split_whitespace().collect();
    let section = words.join(" ");
    let documented = names_after(&section, "The documented profile fields are ");
    assert_eq!(documented, PROFILE_FIELDS.into());
    let reserved = names_after(&section, "(`reserved-name`): ");
    assert_eq!(reserved, RESERVED_FIELDS.into());
}

/// The names in backticks between `begin` and the end of its sentence.
fn names_after<'a>(text: &'a str, begin: &str) -> BTreeSet<&'a str> {
    let (_, after) = text.split_once(begin).unwrap();
    let (sentence, _) = after.split_once(". ").unwrap();
    quoted(sentence).collect()
}
