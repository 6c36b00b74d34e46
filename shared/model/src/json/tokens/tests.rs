use std::borrow::Cow;

use super::*;
use crate::json::{JsonSyntaxError, JsonText, UnpairedSurrogate};

fn seen(text: &str) -> Vec<String> {
    let tokens = JsonText::parse(text).unwrap().value().tokens();
    tokens
        .map(|token| match token {
            Token::String(string) => format!("S {}", string.quoted()),
            Token::Number(number) => format!("N {number}"),
            other => format!("{other:?}"),
        })
        .collect()
}

#[test]
fn numbers_and_strings_are_tokens_as_written() {
    assert_eq!(
        seen(" {\"a\\\"\\\\\" : -1.50E+3,\n\"b\":[true,null , \"\"]} "),
        [
            "BeginObject",
            "S \"a\\\"\\\\\"",
            "N -1.50E+3",
            "S \"b\"",
            "BeginArray",
            "Bool(true)",
            "Null",
            "S \"\"",
            "End",
            "End"
        ]
    );
}

#[test]
fn malformed_json_is_an_error_with_its_position() {
    let error = JsonText::parse("{\n  \"a\": }").unwrap_err();
    assert_eq!(
        error,
        JsonSyntaxError {
            reason: "expected value".into(),
            line: 2,
            column: 8
        }
    );
    assert_eq!(
        JsonText::parse("{} x").unwrap_err().reason,
        "trailing characters"
    );
    assert_eq!(JsonText::parse("").unwrap_err().reason, "an empty text");
    let error = JsonText::parse("\u{feff}{}").unwrap_err();
    let reason = "a byte order mark before the JSON".to_owned();
    assert_eq!(
        error,
        JsonSyntaxError {
            reason,
            line: 1,
            column: 1
        }
    );
}

#[test]
fn nesting_of_any_depth_is_read() {
    let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut tokens = JsonText::parse(&text).unwrap().value().tokens();
    let first = tokens.next().unwrap();
    assert_eq!(tokens.finish_value(first), text);
    assert!(JsonText::parse(&"[".repeat(100_000)).is_err());
}

#[test]
fn unpaired_surrogate_is_json_but_no_text() {
    let tokens = JsonText::parse(r#"["\ud800", "\ud83d\ude00"]"#)
        .unwrap()
        .value()
        .tokens();
    let mut strings = Vec::new();
    for token in tokens {
        if let Token::String(string) = token {
            strings.push(string.decode());
        }
    }
    assert_eq!(strings, [Err(UnpairedSurrogate), Ok(Cow::Borrowed("😀"))]);
}
