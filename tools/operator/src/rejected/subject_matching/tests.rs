//! Each form in which a payload names an id, and what does not name it.

use super::*;

#[track_caller]
fn assert_match(id: &str, expected: SubjectMatch, payloads: &[&str]) {
    for payload in payloads {
        let matched = Wanted::Subject(id).match_in(None, payload);
        assert_eq!(matched, expected, "{id:?} in {payload}");
    }
}

#[test]
fn id_under_a_member_that_identifies_is_certain_in_every_form() {
    let payloads = [
        r#"{"customerId":"1001"}"#,
        r#"{"customerId":1001,"eventType":"login"}"#,
        r#"{"customerId":1001.0}"#,
        r#"{"customerId":1001.000e0}"#,
        r#"{"customerId":1.001E+3}"#,
        r#"{"customerId":100100e-2}"#,
        r#"{"customerId":"1001 "}"#,
        r#"{"customerId":" \t1001\n"}"#,
        r#"{"customerId":"\u00a01001"}"#,
        r#"{"customerId":"\u0031001"}"#,
        r#"{"customerId":["1001"]}"#,
        r#"{"customerId":[5,1001]}"#,
        r#"{"customerId":{"id":1001}}"#,
        r#"{"customerId":{"data":{"ids":[null,{"id":" 1001"}]}}}"#,
        r#"{"emitterId":"1001","eventType":"login"}"#,
        r#"{"emitterId":1001}"#,
        r#"{"customerId":"ada","emitterId":"1001"}"#,
        r#"{"customerId":"ada","customerId":"1001"}"#,
        r#"{"customerId":"1001","customerId":"ada"}"#,
        r#"{"customer\u0049d":"1001"}"#,
        r#"{"eventType":"\ud800","customerId":"1001"}"#,
        // The service suggests `customerId` for these.
        r#"{"customer_id":1001}"#,
        r#"{"CustomerID":"1001"}"#,
        r#"{"userId":"1001"}"#,
        // Wrapped.
        r#"[{"customerId":"1001"}]"#,
        r#"[[{"customer_id":1001}],{"customerId":"ada"}]"#,
        r#"{"signals":[{"customerId":"ada"},{"customerId":"1001"}]}"#,
        "{\n  \"customerId\" : 1001\n}",
    ];
    assert_match("1001", SubjectMatch::Certain, &payloads);
}

#[test]
fn payload_of_another_subject_does_not_name_the_id() {
    let payloads = [
        "{}",
        "17",
        "null",
        r#"{"customerId":"ada"}"#,
        r#"{"customerId":null,"emitterId":true}"#,
        r#"{"customerId":"10010"}"#,
        r#"{"customerId":10010}"#,
        r#"{"customerId":1001.5}"#,
        r#"{"customerId":-1001}"#,
        r#"{"customerId":1001e1}"#,
        r#"{"customerId":"1 001"}"#,
        r#"{"customerId":{"1001":"ada"}}"#,
        r#"{"data":[{"customerId":1001}],"customerId":"ada"}"#,
        r#"{"customerId":"ada","context":{"data":{"customerId":"1001"},"userId":"1001"}}"#,
        r#"{"customerId":"ada","eventType":"1001","1001":"stepNodeId"}"#,
        r#"{"customerId":1002,"data":{"customerId":"1001"}}"#,
        r#"{"user_id":"ada","data":"{\"customerId\":\"1001\"}"}"#,
        r#""customerId""#,
        r#""\ud800 1001""#,
    ];
    assert_match("1001", SubjectMatch::Absent, &payloads);
    assert_match("ada", SubjectMatch::Absent, &[r#"{"customerId":"Ada"}"#]);
    // `" 1001"` is an id of its own.
    assert_match(" 1001", SubjectMatch::Absent, &[r#"{"customerId":"1001"}"#]);
    assert_match("1001.0", SubjectMatch::Absent, &[r#"{"customerId":1001}"#]);
}

#[test]
fn id_of_a_nested_object_in_the_signal_of_another_is_doubtful() {
    let payloads = [
        r#"{"customerId":"ada","eventType":"","referrer":{"customerId":"1001"}}"#,
        r#"{"referrer":{"customerId":1001},"customerId":"ada"}"#,
        r#"{"user_id":["ada"],"a":[{"b":{"emitterId":"1001"}}]}"#,
        r#"{"signals":[{"customerId":"bob","referrer":{"customerId":"1001"}}]}"#,
        r#"[{"customerId":7,"referrer":{"customerId":"1001"}}]"#,
        r#"{"customerId":"ada","referrer":"{\"customerId\":1001}"}"#,
        r#"{"customerId":"{\"id\":1001}"}"#,
    ];
    assert_match("1001", SubjectMatch::Doubtful, &payloads);
    // The signal itself does not say whose it is.
    let payloads = [
        r#"{"eventType":"","referrer":{"customerId":"1001"}}"#,
        r#"{"customerId":null,"emitterId":" ","referrer":{"customerId":"1001"}}"#,
        r#"{"customerId":"1001","referrer":{"customerId":"ada"}}"#,
        r#"{"signals":[{"customerId":"ada","x":{}},{"x":{"customerId":"1001"}}]}"#,
    ];
    assert_match("1001", SubjectMatch::Certain, &payloads);
}

#[test]
fn signal_without_a_subject_that_has_the_id_in_any_place_is_doubtful() {
    let payloads = [
        r#"{"eventType":"x","data":{"customerId":"1001"}}"#,
        r#"{"eventType":"x","data":{"user":{"id":1001}}}"#,
        r#"{"customerId":"","data":{"id":"1001"}}"#,
        r#"{"customerId":"undefined","data":["1001"]}"#,
        r#"{"customerId":null,"context":{"data":{"customerId":"1001"}}}"#,
        r#"{"context":{"userId":"1001"}}"#,
        r#"{"eventType":"1001"}"#,
        r#"{"1001":"customerId"}"#,
        r#"{"data":"{\"customerId\":\"1001\"}"}"#,
        r#"{"payload":" [{\"user\":1001.0}]"}"#,
        r#"{"payload":"{\"customerId\":\"1001\",\"data\":{"}"#,
    ];
    assert_match("1001", SubjectMatch::Doubtful, &payloads);
    // A string in JSON that is in a string is not read.
    let twice = r#"{"payload":"{\"x\":\"{\\\"customerId\\\":1001}\"}"}"#;
    assert_match("1001", SubjectMatch::Absent, &[twice]);
}

#[test]
fn literal_is_no_id() {
    for id in ["null", "true", "false"] {
        let literal = format!(r#"{{"customerId":{id},"emitterId":[{id}],"data":{id}}}"#);
        assert_match(id, SubjectMatch::Absent, &[&literal]);
        let text = format!(r#"{{"customerId":"{id}"}}"#);
        assert_match(id, SubjectMatch::Certain, &[&text]);
    }
}

#[test]
fn cut_or_unreadable_payload_with_the_id_is_doubtful() {
    let payloads = [
        r#"{"customerId":"1001","data":{"#,
        r#"{"customerId":1001,"data":{"#,
        r#"{"customerId":["1001"#,
        r#"{"data":{"user":"1001"},"#,
        r#"{"data":{"user":1001.0},"#,
        r#"{"data":{"1001":{"#,
        r#"{"data":{"user":1001"#,
        r#"{"customerId":"10"#,
        r#"{"customerId":" 1001"#,
        r#"{"customerId":"1001 "#,
        r#"{"customerId":"\u00310\u00"#,
        r#"{"customerId":"1\"#,
        r#"{"customerId":100"#,
        r#"{"customerId":1001"#,
        "{customerId: 1001}",
        "customerId=1,\"1001\",x",
        // An array is no signal.
        "[1001]",
        r#"["x","1001"]"#,
        r#"[["1001"]]"#,
        r#"[{"x":"1001"},{"data":{}}]"#,
        // JSON in a string.
        r#""{\"customerId\":1001}""#,
        r#""100 1001""#,
        "1001",
    ];
    assert_match("1001", SubjectMatch::Doubtful, &payloads);
}

#[test]
fn cut_payload_without_the_id_does_not_name_it() {
    let payloads = [
        r#"{"customerId":"ada","data":{"#,
        r#"{"customerId":"10011","data":{"#,
        r#"{"customerId":"","data":{"#,
        r#"{"customerId":""#,
        r#"{"customerId":"#,
        r#"{"customerId":"adam"#,
        r#"{"customerId":10011"#,
        r#"{"data":{"note":"1001 apples","#,
        r#"{"data":{"note":"10"#,
        "",
    ];
    assert_match("1001", SubjectMatch::Absent, &payloads);
}

#[test]
fn short_number_counts_only_under_a_member_that_identifies() {
    let cut = r#"{"customerId":"1001","data":{"count":1,"size":"1","list":[1,"#;
    assert_match("1", SubjectMatch::Absent, &[cut, "[1]"]);
    assert_match("999", SubjectMatch::Absent, &[r#"{"data":{"price":999,"#]);
    let named = [
        r#"{"customerId":1,"data":{"#,
        r#"{"customerId":{"id":"1"},"#,
    ];
    assert_match("1", SubjectMatch::Doubtful, &named);
    assert_match("1", SubjectMatch::Certain, &[r#"{"customerId":1.0}"#]);
    assert_match("1", SubjectMatch::Absent, &[r#"{"customerId":1001,"n":1}"#]);
    assert_match("1", SubjectMatch::Absent, &[r#"{"data":{"n":1}}"#]);
    // A short id that is no number is rare enough.
    assert_match("ada", SubjectMatch::Doubtful, &[r#"{"data":{"who":"ada","#]);
}

#[test]
fn subject_that_the_function_found_is_certain() {
    let matched = |wanted: Wanted<'_>| wanted.match_in(Some("ada"), r#"{"data":{"#);
    assert_eq!(matched(Wanted::Subject("ada")), SubjectMatch::Certain);
    assert_eq!(matched(Wanted::Subject("bob")), SubjectMatch::Absent);
    assert_eq!(matched(Wanted::Type("ada")), SubjectMatch::Absent);
}

#[test]
fn type_is_found_as_a_subject_is() {
    let matched = |payload| Wanted::Type("login").match_in(None, payload);
    for certain in [
        r#"{"eventType":"login","stepNodeId":"n"}"#,
        r#"{"stepNodeId":"login"}"#,
        r#"{"eventType":["login "]}"#,
        r#"{"event_type":"login"}"#,
    ] {
        assert_eq!(matched(certain), SubjectMatch::Certain, "{certain}");
    }
    for absent in [
        r#"{"eventType":"Login"}"#,
        r#"{"customerId":"ada","data":{"eventType":"login"}}"#,
        r#"{"eventType":"buy","customerId":"login","data":{"eventType":"login"}}"#,
    ] {
        assert_eq!(matched(absent), SubjectMatch::Absent, "{absent}");
    }
    for doubtful in [
        r#"{"eventType":"login","data":{"#,
        r#"{"eventType":"buy","cause":{"eventType":"login"}}"#,
    ] {
        assert_eq!(matched(doubtful), SubjectMatch::Doubtful, "{doubtful}");
    }
}

#[test]
fn number_is_written_as_programs_print_it() {
    for (number, plain) in [
        ("1001", "1001"),
        ("-0", "0"),
        ("0.000e99", "0"),
        ("0010", "10"),
        ("1.50", "1.5"),
        ("15e-1", "1.5"),
        ("5e-3", "0.005"),
        ("0.005", "0.005"),
        ("-12e2", "-1200"),
        ("0.12e2", "12"),
        ("9007199254740993.0", "9007199254740993"),
        ("1e20", "100000000000000000000"),
    ] {
        assert_eq!(plain_number(number).as_deref(), Some(plain), "{number}");
    }
    for other in [
        "true",
        "",
        "-",
        ".",
        "1e",
        "1e999",
        "1e-999",
        "1e99999999999999999999",
        "1x",
        "é",
    ] {
        assert_eq!(plain_number(other), None, "{other}");
    }
}

#[test]
fn deep_payload_is_read_to_its_end() {
    let deep = format!(
        r#"{{"data":{}1{},"customerId":1001}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_match("1001", SubjectMatch::Certain, &[&deep]);
    let cut = deep.get(..150_000).unwrap();
    assert_match("1001", SubjectMatch::Absent, &[cut]);
}
