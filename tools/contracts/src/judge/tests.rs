use super::*;

fn judge(contracts: &mut Contracts, data: &str) -> Verdict {
    let data: &RawValue = serde_json::from_str(data).unwrap();
    contracts.judge("purchase", data)
}

fn contracts(schema: &str) -> (tempfile::TempDir, Contracts) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("purchase.json"), schema).unwrap();
    let contracts = Contracts::read(dir.path()).unwrap();
    (dir, contracts)
}

#[test]
fn number_is_judged_with_all_its_digits() {
    let (_dir, mut contracts) = contracts(r#"{"maximum": 9007199254740992.5, "multipleOf": 0.01}"#);
    let mut is_ok = |data: &str| judge(&mut contracts, data) == Verdict::Kept;
    assert!(is_ok("9007199254740992") && is_ok("0.07") && is_ok("19.99"));
    assert!(!is_ok("9007199254740993") && !is_ok("0.070000000000000000000000001"));
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
    assert!(matches!(
        judge(&mut contracts, "{}"),
        Verdict::Broken { .. }
    ));
    write(r#"{"type": "object"}"#, 2);
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
    write(r#"{"type": "text"}"#, 3);
    assert_eq!(judge(&mut contracts, "{}"), Verdict::Kept);
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
fn format_is_checked() {
    let (_dir, mut contracts) = contracts(r#"{"properties": {"at": {"format": "date-time"}}}"#);
    let at = |time: &str| format!("{{\"at\":\"{time}\"}}");
    assert_eq!(
        judge(&mut contracts, &at("2026-11-20T22:16:40Z")),
        Verdict::Kept
    );
    assert!(matches!(
        judge(&mut contracts, &at("yesterday")),
        Verdict::Broken { .. }
    ));
}

#[test]
fn contract_with_encoded_capitals_is_that_of_its_type() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Login.json"), "false").unwrap();
    fs::write(dir.path().join("login.json"), "false").unwrap();
    fs::write(dir.path().join("%4Cogin.json"), "true").unwrap();
    let mut contracts = Contracts::read(dir.path()).unwrap();
    let data: &RawValue = serde_json::from_str("{}").unwrap();
    assert_eq!(contracts.judge("Login", data), Verdict::Kept);
    assert!(matches!(
        contracts.judge("login", data),
        Verdict::Broken { .. }
    ));
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
    let data: &RawValue = serde_json::from_str("{}").unwrap();
    for signal_type in &types {
        assert_eq!(
            contracts.judge(signal_type, data),
            Verdict::Kept,
            "{signal_type}"
        );
    }
    assert_eq!(contracts.judge("other", data), Verdict::NoContract);
}

#[test]
fn contract_that_is_new_and_cannot_be_used_is_kept_by_no_signal() {
    let dir = tempfile::tempdir().unwrap();
    let mut contracts = Contracts::read(dir.path()).unwrap();
    assert_eq!(judge(&mut contracts, "{}"), Verdict::NoContract);
    fs::write(dir.path().join("purchase.json"), "{").unwrap();
    for _ in 0..2 {
        let Verdict::Broken { breaks } = judge(&mut contracts, "{}") else {
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
