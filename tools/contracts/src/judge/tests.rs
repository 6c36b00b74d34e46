use super::*;

fn judge(contracts: &mut Contracts, data: &str) -> Verdict {
    contracts.judge("purchase", data)
}

fn contracts(schema: &str) -> (tempfile::TempDir, Contracts) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("purchase.json"), schema).unwrap();
    let contracts = Contracts::read(dir.path()).unwrap();
    (dir, contracts)
}

#[test]
fn number_is_judged_as_an_integer_of_64_bits_or_else_as_a_double() {
    let (_dir, mut contracts) = contracts(r#"{"maximum": 9007199254740992, "multipleOf": 0.01}"#);
    let mut is_ok = |data: &str| judge(&mut contracts, data) == Verdict::Kept;
    assert!(is_ok("9007199254740992") && is_ok("0.07") && is_ok("19.99"));
    assert!(!is_ok("9007199254740993") && !is_ok("0.075"));
    // The nearest doubles of these are the maximum, and 0.07.
    assert!(is_ok("9007199254740992.5") && is_ok("0.070000000000000000000000001"));
}

#[test]
fn data_that_cannot_be_judged_is_broken_and_says_why() {
    let (_dir, mut contracts) = contracts("true");
    let nested = "[".repeat(200) + &"]".repeat(200);
    for (data, why) in [
        (nested.as_str(), "recursion limit exceeded"),
        (r#"{"price":"\ud800"}"#, "unexpected end of hex escape"),
    ] {
        let Verdict::Broken(breaks) = judge(&mut contracts, data) else {
            panic!("it was judged");
        };
        let message = &breaks[0].message;
        assert!(
            message.starts_with("the data cannot be judged: ") && message.contains(why),
            "{message}"
        );
    }
}

#[test]
fn keyword_that_json_schema_does_not_know_is_an_error_unless_it_begins_with_x() {
    let dir = tempfile::tempdir().unwrap();
    let error = |schema: &str| {
        fs::write(dir.path().join("purchase.json"), schema).unwrap();
        let error = Contracts::read(dir.path()).err()?;
        Some(format!("{error:#}"))
    };
    for (schema, place, keyword) in [
        (r#"{"requried": ["price"]}"#, "", "requried"),
        (
            r#"{"properties": {"price": {"items": {"minimun": 1}}}}"#,
            "/properties/price/items",
            "minimun",
        ),
        (
            r#"{"$defs": {"a": {"allOf": [{"typ": 1}]}}}"#,
            "/$defs/a/allOf/0",
            "typ",
        ),
    ] {
        let error = error(schema).unwrap();
        let expected = format!(
            "purchase.json is not a JSON Schema: at \"{place}\": JSON Schema does not know this keyword"
        );
        assert!(
            error.contains(&expected) && error.contains(keyword),
            "{error}"
        );
    }
    let known = r#"{"x-owner": "shop", "title": "t", "$comment": "c", "examples": [{"any": 1}], "default": {"any": 1},
        "properties": {"requried": {"x-unit": "EUR", "const": {"any": 1}}}, "dependentRequired": {"a": ["b"]}}"#;
    assert_eq!(error(known), None);
}

#[test]
fn contract_that_changes_is_read_again_and_one_that_cannot_be_used_is_not() {
    let (dir, mut contracts) = contracts(r#"{"type": "object"}"#);
    let write = |schema: &str, seconds| {
        let path = dir.path().join("purchase.json");
        fs::write(&path, schema).unwrap();
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
    write(r#"{"type": "array"}"#, 1);
    assert!(matches!(judge(&mut contracts, "{}"), Verdict::Broken(_)));
    write(r#"{"type": "object"}"#, 2);
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
    write(r#"{"type": "text"}"#, 3);
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
    let notes = contracts.take_notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].ends_with(". The contract that was read before stays."),
        "{notes:?}"
    );
    fs::remove_file(dir.path().join("purchase.json")).unwrap();
    assert_eq!(judge(&mut contracts, "{}"), Verdict::NoContract);
}

#[test]
fn contract_that_is_no_schema_is_an_error_with_its_file_and_place() {
    let dir = tempfile::tempdir().unwrap();
    for (schema, place) in [
        (
            r#"{"properties": {"price": {"type": "text"}}}"#,
            "/properties/price/type",
        ),
        ("{\n  \"type\": ", "line 2"),
        (
            r#"{"$ref": "https://example.com/schema.json"}"#,
            "https://example.com/schema.json",
        ),
        (r#"{"properties": {"price": {"format": "money"}}}"#, "money"),
    ] {
        fs::write(dir.path().join("purchase.json"), schema).unwrap();
        let error = format!("{:#}", Contracts::read(dir.path()).err().unwrap());
        assert!(
            error.contains("purchase.json is not a JSON Schema") && error.contains(place),
            "{error}"
        );
    }
}

#[test]
fn contract_of_another_dialect_is_an_error_with_both() {
    let dir = tempfile::tempdir().unwrap();
    let error = |dialect: &str| {
        let schema = format!(r#"{{"$schema": "{dialect}", "items": [{{}}]}}"#);
        fs::write(dir.path().join("purchase.json"), schema).unwrap();
        format!("{:#}", Contracts::read(dir.path()).unwrap_err())
    };
    let draft7 = error("http://json-schema.org/draft-07/schema#");
    assert!(
        draft7.ends_with(
            "purchase.json has the $schema \"http://json-schema.org/draft-07/schema#\", and contracts are judged by \
             \"https://json-schema.org/draft/2020-12/schema\""
        ),
        "{draft7}"
    );
    // The array of `items` is of an earlier draft.
    let own = error("https://json-schema.org/draft/2020-12/schema#");
    assert!(own.contains("is not a JSON Schema: at \"/items\""), "{own}");
}

#[test]
fn file_that_is_the_contract_of_no_type_is_an_error_with_the_name_that_is_meant() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("add to cart.json");
    fs::write(&path, "{}").unwrap();
    let error = format!("{:#}", Contracts::read(dir.path()).unwrap_err());
    let expected = format!(
        "{} is the contract of no type: the contract of the type \"add to cart\" has the name add%20to%20cart.json",
        path.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn contract_may_begin_with_a_byte_order_mark() {
    let (_dir, mut contracts) = contracts("\u{feff}{\"type\": \"object\"}");
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
}

#[test]
fn contract_with_a_keyword_twice_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let schema = r#"{"properties": {"a": {"type": "object", "type": "string"}}}"#;
    fs::write(dir.path().join("purchase.json"), schema).unwrap();
    let error = format!("{:#}", Contracts::read(dir.path()).unwrap_err());
    assert!(
        error.contains("is not a JSON Schema: \"type\" is twice in an object at line 1"),
        "{error}"
    );
}

#[test]
fn file_that_macos_puts_beside_a_contract_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("._purchase.json"), b"\0\x05\x16\x07").unwrap();
    fs::write(dir.path().join("purchase.json"), "{}").unwrap();
    let mut contracts = Contracts::read(dir.path()).unwrap();
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
}

#[test]
fn names_that_serde_json_uses_itself_are_judged_like_others() {
    let (_dir, mut contracts) = contracts(r#"{"type": "object", "maxProperties": 1}"#);
    for name in ["RawValue", "Number"] {
        let data = format!(r#"{{"$serde_json::private::{name}": "1"}}"#);
        assert_eq!(judge(&mut contracts, &data), Verdict::Kept, "{name}");
    }
}

#[test]
fn format_is_checked() {
    let (_dir, mut contracts) = contracts(r#"{"properties": {"at": {"format": "date-time"}}}"#);
    let at = |time: &str| format!("{{\"at\":\"{time}\"}}");
    assert_eq!(
        judge(&mut contracts, &at("2026-11-20T22:16:40Z")),
        Verdict::Kept
    );
    assert!(matches!(
        judge(&mut contracts, &at("yesterday")),
        Verdict::Broken(_)
    ));
}

#[test]
fn contract_with_encoded_capitals_is_that_of_its_type() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Login.json"), "false").unwrap();
    fs::write(dir.path().join("login.json"), "false").unwrap();
    fs::write(dir.path().join("%4Cogin.json"), "true").unwrap();
    let mut contracts = Contracts::read(dir.path()).unwrap();
    assert_eq!(contracts.judge("Login", "{}"), Verdict::Kept);
    assert!(matches!(contracts.judge("login", "{}"), Verdict::Broken(_)));
}

#[test]
fn type_of_any_length_has_a_file_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let types = ["李".repeat(256), "李".repeat(255), "a".repeat(256)];
    for signal_type in &types {
        fs::write(dir.path().join(file_name(signal_type)), "{}").unwrap();
    }
    let mut contracts = Contracts::read(dir.path()).unwrap();
    assert_eq!(contracts.by_file.len(), types.len());
    for signal_type in &types {
        assert_eq!(
            contracts.judge(signal_type, "{}"),
            Verdict::Kept,
            "{signal_type}"
        );
    }
    assert_eq!(contracts.judge("other", "{}"), Verdict::NoContract);
}

#[test]
fn contract_that_is_new_and_cannot_be_used_is_kept_by_no_signal() {
    let dir = tempfile::tempdir().unwrap();
    let mut contracts = Contracts::read(dir.path()).unwrap();
    assert_eq!(judge(&mut contracts, "{}"), Verdict::NoContract);
    fs::write(dir.path().join("purchase.json"), "{").unwrap();
    for _ in 0..2 {
        let Verdict::Broken(breaks) = judge(&mut contracts, "{}") else {
            panic!("it was judged");
        };
        assert!(
            breaks[0]
                .message
                .contains("purchase.json is not a JSON Schema"),
            "{breaks:?}"
        );
    }
}
