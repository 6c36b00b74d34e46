//! README.md says what the code does: its limits, its errors and its examples.

use std::path::Path;

use dev::development_key;
use model::limits;
use model::timestamp::Timestamp;
use serde_json::Value;
use service::problem::ProblemType;
use testkit::{RequestBuilder, TestApp};

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap()
}

/// The rows of the table below this heading, as cells.
fn table(heading: &str) -> Vec<Vec<String>> {
    let readme = readme();
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.skip(2).map(cells).collect()
}

/// `number` with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

#[test]
fn the_limits_in_the_readme_are_those_of_the_code() {
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
    ];
    let in_readme: Vec<_> = table("Limits").into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(in_readme, expected.map(|(limit, unit)| format!("{}{unit}", grouped(limit))));
    assert!(readme().contains(&format!("the first {} faults", limits::MAX_ERRORS_PER_SIGNAL)));
}

#[test]
fn the_errors_in_the_readme_are_those_of_the_code() {
    let in_readme: Vec<_> = table("Errors").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let in_code: Vec<_> = ProblemType::ALL.iter().map(|kind| (kind.status.to_string(), kind.code.to_owned())).collect();
    assert_eq!(in_readme, in_code);
}

#[tokio::test]
async fn the_examples_in_the_readme_are_answered_as_it_says() {
    let readme = readme();
    let section = readme.split("\n## A first customer and a first batch\n").nth(1).unwrap();
    let blocks: Vec<_> = section.split("```").skip(1).step_by(2).take(4).collect();
    let stack = TestApp::start();
    development_key::load(&stack.emulator, testkit::template()).unwrap();
    for pair in blocks.chunks(2) {
        let command = pair[0].strip_prefix("sh\n").unwrap();
        let body = command.split("-d '").nth(1).unwrap().trim_end().strip_suffix('\'').unwrap();
        let path = command.split("http://127.0.0.1:9000").nth(1).unwrap().split_whitespace().next().unwrap();
        assert!(command.contains(&format!("Bearer {}'", development_key::API_KEY)));
        let moment: Timestamp = "2026-11-20T22:33:44.123Z".parse().unwrap();
        let call = RequestBuilder::new("POST", path).body(body).key(development_key::API_KEY).at(moment);
        let expected: Value = serde_json::from_str(pair[1].strip_prefix("json\n").unwrap()).unwrap();
        assert_eq!(stack.send(call).await.json(), expected);
    }
}
