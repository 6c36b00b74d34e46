use serde_json::{Value, json};

use super::*;

const SORT_KEY: &str = "2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#0007";

/// The JSON of the CloudEvent of a record.
fn cloud_event_json(record: &Value) -> Result<Option<String>, UnreadableRecord> {
    let record = RawValue::from_string(record.to_string()).unwrap();
    Ok(read_record(&record)?.map(|cloud_event| cloud_event.json))
}

fn signal(image: &Value) -> Value {
    let keys = json!({"pk": {"S": "acme#c#1"}, "sk": {"S": SORT_KEY}});
    json!({"eventID": "e1", "eventName": "INSERT", "dynamodb": {"Keys": keys, "NewImage": image, "SequenceNumber": "1"}})
}

fn customer(name: &str, old: Option<&Value>, new: Option<&Value>) -> Value {
    let keys = json!({"pk": {"S": "acme#c-1"}});
    let change = json!({"Keys": keys, "OldImage": old, "NewImage": new, "SequenceNumber": "1",
        "ApproximateCreationDateTime": 1_795_214_024});
    json!({"eventID": "0123abcd", "eventName": name, "dynamodb": change})
}

fn profile(updated_at: &str, city: &str) -> Value {
    json!({"pk": {"S": "acme#c-1"}, "accountId": {"S": "acme"}, "customerId": {"S": "c-1"},
        "createdAt": {"S": "2026-11-20T22:33:44.123Z"}, "updatedAt": {"S": updated_at}, "city": {"S": city},
        "loyalty": {"M": {"points": {"N": "12345678901234567890123456789012345678"}}}})
}

#[test]
fn change_by_time_to_live_and_a_changed_signal_have_no_cloud_event() {
    let mut expired = customer(
        "REMOVE",
        Some(&profile("2026-11-20T22:33:44.123Z", "Rome")),
        None,
    );
    expired["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
    assert_eq!(cloud_event_json(&expired).unwrap(), None);
    for name in ["MODIFY", "REMOVE"] {
        let mut changed = signal(&json!({}));
        changed["eventName"] = json!(name);
        assert_eq!(cloud_event_json(&changed).unwrap(), None, "{name}");
    }
}

#[test]
fn record_of_an_unknown_shape_is_unreadable() {
    let image = json!({"customerId": {"S": "c"}, "eventType": {"S": "t"}, "data": {"M": {}}, "undocumented": {"M": {}}});
    let with = |pointer: &str, value: Value| {
        let mut record = signal(&image);
        *record.pointer_mut(pointer).unwrap() = value;
        record
    };
    let without = |name: &str| {
        let mut image = image.clone();
        image.as_object_mut().unwrap().remove(name);
        signal(&image)
    };
    for record in [
        json!({}),
        json!([]),
        json!("text"),
        with("/eventName", json!("UPDATE")),
        with("/eventID", json!(1)),
        with(
            "/dynamodb/Keys",
            json!({"pk": {"S": "acme#c"}, "sk": {"S": SORT_KEY}, "other": {"S": "x"}}),
        ),
        with("/dynamodb/Keys", json!({"keyHash": {"S": "00"}})),
        with("/dynamodb/Keys/pk", json!({"S": "acme"})),
        with("/dynamodb/Keys/pk", json!({"N": "1"})),
        with(
            "/dynamodb/Keys/sk",
            json!({"S": "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#0001#e899fb409dc0a9a3"}),
        ),
        with(
            "/dynamodb/Keys/sk",
            json!({"S": "2026-11-20T22:33:44.123Z"}),
        ),
        with("/dynamodb/NewImage", Value::Null),
        with("/dynamodb/NewImage/data", json!({"B": "YQ=="})),
        with("/dynamodb/NewImage/data", json!({"N": "one"})),
        with("/dynamodb/NewImage/undocumented", json!({"S": "{}"})),
        without("customerId"),
        without("eventType"),
        without("data"),
        customer("INSERT", None, None),
        customer(
            "MODIFY",
            None,
            Some(&profile("2026-11-20T22:33:44.123Z", "Rome")),
        ),
        customer("INSERT", None, Some(&profile("yesterday", "Rome"))),
        customer("INSERT", None, Some(&json!({"city": {"S": "Rome"}}))),
    ] {
        assert!(cloud_event_json(&record).is_err(), "{record}");
    }
}
