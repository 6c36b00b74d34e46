use std::io::{self, Write};

use serde_json::Value;

use super::infer::infer;
use super::{check, is_closed_output, judge, read_signals};

fn folder(schema: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("purchase.json"), schema).unwrap();
    dir
}

/// What `judge` answers to these lines, after it was ready.
fn answers(lines: &[String]) -> Vec<Value> {
    let dir = folder(r#"{"required": ["price"]}"#);
    let mut output = Vec::new();
    judge(dir.path(), lines.join("\n").as_bytes(), &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    let (ready, answers) = output.split_once('\n').unwrap();
    assert_eq!(ready, "ready");
    answers
        .lines()
        .map(|answer| serde_json::from_str(answer).unwrap())
        .collect()
}

#[test]
fn each_line_has_its_answer_also_one_that_cannot_be_judged() {
    let line = |data: &str| format!("{{\"type\":\"purchase\",\"data\":{data}}}");
    let nested = "[".repeat(200) + &"]".repeat(200);
    let lines = [
        line(r#"{"price":1}"#),
        line(&nested),
        line(r#"{"price":"\ud800"}"#),
        "no JSON".to_owned(),
        r#"{"type":"other","data":"\ud800"}"#.to_owned(),
        line("{}"),
    ];
    let answers = answers(&lines);
    let contracts: Vec<_> = answers.iter().map(|answer| &answer["contract"]).collect();
    assert_eq!(
        contracts,
        ["ok", "broken", "broken", "broken", "none", "broken"]
    );
    let message = |index: usize| answers[index]["breaks"][0]["message"].as_str().unwrap();
    assert!(
        message(1).starts_with("the data cannot be judged: recursion limit exceeded"),
        "{answers:?}"
    );
    assert!(
        message(2).starts_with("the data cannot be judged: "),
        "{answers:?}"
    );
    assert!(
        message(3).starts_with("a line of the input is not a signal"),
        "{answers:?}"
    );
}

#[test]
fn check_of_a_folder_without_a_contract_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let error = check(dir.path(), &b""[..], &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("has no contract"), "{error}");
}

/// The end of a pipe whose reader has gone.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn output_that_its_reader_closes_ends_the_work_without_a_panic() {
    let dir = folder("false");
    let broken = &br#"{"type":"purchase","data":{}}"#[..];
    let broken_signals = check(dir.path(), broken, &mut Closed).unwrap();
    assert_eq!(broken_signals, 1);

    let out = dir.path().join("new");
    let error = infer(read_signals(broken), &out, false, &mut Closed).unwrap_err();
    assert!(is_closed_output(&error));
    assert!(out.join("purchase.json").is_file());
}
