//! docs/api.md has the code's endpoints, limits, codes and profile fields.

use std::collections::BTreeSet;

use customers::CustomersFunction;
use model::account::MAX_ACCOUNT_ID_CHARS;
use model::customer::PROFILE_FIELDS;
use model::customer::attributes::RESERVED_FIELDS;
use model::identifier::{DOUBTFUL_WORDS, PLACEHOLDERS, UNFILLED_PARTS};
use model::limits;
use model::validation::{FieldErrorCode, WarningCode};
use service::problem_document::RETRY_AFTER_SECONDS;
use service::runtime::http::HttpFunction as _;
use signals::SignalsFunction;

use crate::openapi::codes::problem_types;
use crate::support::page::{Page, quoted};

fn api() -> Page {
    Page::read("docs/api.md")
}

/// The table has no row for `HEAD`: it is as `GET`.
#[test]
fn endpoints_are_those_of_the_code() {
    let rows = api().table("Endpoints", "method and path");
    let cells = rows.iter().flat_map(|row| quoted(&row[0]));
    let documented: BTreeSet<_> = cells.map(str::to_owned).collect();
    let mut in_code = BTreeSet::from(["OPTIONS".to_owned()]);
    let routes = CustomersFunction::ROUTES.iter();
    for route in routes.chain(SignalsFunction::ROUTES) {
        let methods = route.methods.iter().filter(|method| **method != "HEAD");
        in_code.extend(methods.map(|method| format!("{method} {}", route.path)));
    }
    assert_eq!(documented, in_code);
}

/// `number` with commas between thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

/// A row of the table Limits.
#[derive(Debug, PartialEq)]
struct LimitRow {
    what: String,
    limit: String,
}

/// The limits of the code as the table has them: what is limited, the number, and its unit.
fn limits_of_the_code() -> Vec<LimitRow> {
    let limits = [
        (
            "body, decoded and decompressed",
            limits::MAX_BODY_BYTES,
            " bytes",
        ),
        (
            "members of a gzip body (RFC 1952)",
            limits::MAX_GZIP_MEMBERS,
            "",
        ),
        ("signals per request", limits::MAX_SIGNALS_PER_REQUEST, ""),
        (
            "customerId, emitterId, eventType, stepNodeId",
            limits::MAX_IDENTIFIER_CHARS,
            " characters",
        ),
        (
            "value of a documented profile field",
            limits::MAX_PROFILE_VALUE_CHARS,
            " characters",
        ),
        (
            "value of an unknown profile field, as JSON text",
            limits::MAX_UNKNOWN_VALUE_CHARS,
            " characters",
        ),
        (
            "name of an unknown profile field",
            limits::MAX_UNKNOWN_NAME_CHARS,
            " characters",
        ),
        (
            "unknown profile fields per request",
            limits::MAX_UNKNOWN_FIELDS,
            "",
        ),
        ("a signal, as sent", limits::MAX_SIGNAL_BYTES, " bytes"),
        (
            "errors reported for a signal; warnings have the same limit",
            limits::MAX_ERRORS_PER_SIGNAL,
            "",
        ),
        (
            "errors reported for an envelope or a customer; warnings have the same limit",
            limits::MAX_ERRORS_PER_REQUEST,
            "",
        ),
        (
            "`field` and `pointer` of an error in the response",
            limits::MAX_POINTER_BYTES,
            " bytes",
        ),
        (
            "name of a field of `data`, and of any other that is stored",
            limits::MAX_NAME_BYTES,
            " bytes",
        ),
        (
            "significant digits of a number",
            limits::MAX_NUMBER_DIGITS,
            "",
        ),
        ("nested objects and arrays", limits::MAX_NESTING_DEPTH, ""),
        ("account id", MAX_ACCOUNT_ID_CHARS, " characters"),
        (
            "seconds in `Retry-After`",
            usize::from(RETRY_AFTER_SECONDS),
            "",
        ),
    ];
    limits
        .into_iter()
        .map(|(what, limit, unit)| LimitRow {
            what: what.to_owned(),
            limit: format!("{}{unit}", grouped(limit)),
        })
        .collect()
}

#[test]
fn limits_are_those_of_the_code() {
    let documented: Vec<_> = api()
        .table("Limits", "what")
        .into_iter()
        .map(|row| LimitRow {
            what: row[0].clone(),
            limit: row[1].clone(),
        })
        .collect();
    assert_eq!(documented, limits_of_the_code());
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
    let in_code: Vec<_> = FieldErrorCode::ALL
        .iter()
        .map(|code| code.as_str())
        .collect();
    assert_eq!(first_cells("code of an error | meaning"), in_code);
}

#[test]
fn codes_of_warnings_are_those_of_the_code() {
    let in_code: Vec<_> = WarningCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(first_cells("code of a warning | meaning"), in_code);
}

/// The first cells of the table in the section Errors with this header.
fn first_cells(header: &str) -> Vec<String> {
    let rows = api().table("Errors", header).into_iter();
    rows.filter_map(|row| row.into_iter().next()).collect()
}

/// The texts that a cell of the table of identifiers names, without the codes.
fn identifiers_in(cell: &str) -> BTreeSet<String> {
    let error_codes = FieldErrorCode::ALL.iter().map(|code| code.as_str());
    let warning_codes = WarningCode::ALL.iter().map(|code| code.as_str());
    let codes: BTreeSet<_> = error_codes.chain(warning_codes).collect();
    let texts = quoted(cell).filter(|text| !codes.contains(text));
    texts.map(str::to_owned).collect()
}

#[test]
fn table_of_identifiers_names_what_is_refused_and_what_is_warned_of() {
    let rows = api().table("Errors", "identifier");
    let row = rows
        .iter()
        .find(|row| row[0] == "`customerId`, `emitterId`");
    let row = row.unwrap();
    let refused = identifiers_in(&row[1]);
    assert_eq!(refused, PLACEHOLDERS.map(str::to_owned).into());
    let warned = identifiers_in(&row[2]);
    let words = DOUBTFUL_WORDS.iter().chain(&UNFILLED_PARTS).copied();
    let expected: BTreeSet<_> = words.chain(["0"]).map(str::to_owned).collect();
    assert_eq!(warned, expected);
}

#[test]
fn every_profile_field_and_every_reserved_name_is_listed() {
    let page = api();
    let quoted: BTreeSet<_> = quoted(page.section("Customers")).collect();
    for name in PROFILE_FIELDS.iter().chain(&RESERVED_FIELDS) {
        assert!(quoted.contains(name), "{name}");
    }
}
