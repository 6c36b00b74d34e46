use serde_json::{Value, json};

use super::*;

const SORT_KEY: &str = "2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#0007";

/// The event of a record, as text.
fn event(record: &Value) -> Result<Option<String>, UnreadableRecord> {
    let record = RawValue::from_string(record.to_string()).unwrap();
    Ok(event_of(&record)?.map(|event| event.json))
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
fn signal_of_a_customer_is_an_event_with_what_was_sent() {
    let image = json!({"customerId": {"S": "c#1"}, "eventType": {"S": "purchase"}, "accountId": {"S": "acme"},
        "data": {"M": {"price": {"N": "49.90"}}}, "undocumented": {"M": {"more": {"N": "1"}}}, "later": {"B": "YQ=="}});
    assert_eq!(
        event(&signal(&image)).unwrap().unwrap(),
        concat!(
            r#"{"specversion":"1.0","id":"2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#0007","#,
            r#""source":"/accounts/acme/signals","type":"purchase","subject":"c#1","time":"2026-11-20T22:33:44.123Z","#,
            r#""datacontenttype":"application/json","#,
            r#""data":{"customerId":"c#1","eventType":"purchase","data":{"price":49.90},"more":1}}"#,
        )
    );
}

#[test]
fn signal_of_an_emitter_is_an_event_with_what_was_sent() {
    let image = json!({"emitterId": {"S": "c#1"}, "stepNodeId": {"S": "n\"1"}, "data": {"M": {}},
        "eventflowIdentifier": {"S": "3FA85F64-5717-4562-b3fc-2c963f66afa6"}, "undocumented": {"M": {}}});
    let event = event(&signal(&image)).unwrap().unwrap();
    assert!(event.contains(r#""type":"n\"1","subject":"c#1""#), "{event}");
    let data = concat!(
        r#""data":{"emitterId":"c#1","stepNodeId":"n\"1","#,
        r#""eventflowIdentifier":"3FA85F64-5717-4562-b3fc-2c963f66afa6","data":{}}}"#
    );
    assert!(event.ends_with(data), "{event}");
}

#[test]
fn customer_change_has_the_old_and_the_new_profile() {
    let (first, second) = ("2026-11-20T22:33:44.123Z", "2026-11-21T00:00:00.000Z");
    let data = |city| format!(r#"{{"city":"{city}","loyalty":{{"points":12345678901234567890123456789012345678}}}}"#);
    let created = event(&customer("INSERT", None, Some(&profile(first, "Rome")))).unwrap().unwrap();
    let attributes = concat!(
        r#"{"specversion":"1.0","id":"0123abcd","source":"/accounts/acme/customers","type":"intake.customer.created","#,
        r#""subject":"c-1","time":"2026-11-20T22:33:44.123Z","datacontenttype":"application/json","#,
    );
    assert_eq!(created, format!(r#"{attributes}"data":{{"new":{}}}}}"#, data("Rome")));
    let updated =
        event(&customer("MODIFY", Some(&profile(first, "Rome")), Some(&profile(second, "")))).unwrap().unwrap();
    assert!(updated.contains(r#""type":"intake.customer.updated","subject":"c-1","time":"2026-11-21T00:00:00.000Z""#));
    assert!(updated.ends_with(&format!(r#""data":{{"old":{},"new":{}}}}}"#, data("Rome"), data(""))), "{updated}");
}

#[test]
fn deleted_customer_has_the_id_and_no_profile() {
    let deleted =
        event(&customer("REMOVE", Some(&profile("2026-11-20T22:33:44.123Z", "Rome")), None)).unwrap().unwrap();
    assert_eq!(
        deleted,
        concat!(
            r#"{"specversion":"1.0","id":"0123abcd","source":"/accounts/acme/customers","#,
            r#""type":"intake.customer.deleted","subject":"c-1","time":"2026-11-20T22:33:44.000Z"}"#
        )
    );
}

#[test]
fn change_by_time_to_live_and_a_changed_signal_are_no_events() {
    let mut expired = customer("REMOVE", Some(&profile("2026-11-20T22:33:44.123Z", "Rome")), None);
    expired["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
    assert_eq!(event(&expired).unwrap(), None);
    for name in ["MODIFY", "REMOVE"] {
        let mut changed = signal(&json!({}));
        changed["eventName"] = json!(name);
        assert_eq!(event(&changed).unwrap(), None, "{name}");
    }
}

#[test]
fn record_of_an_unknown_shape_is_unreadable() {
    let image = json!({"customerId": {"S": "c"}, "eventType": {"S": "t"}, "data": {"M": {}}});
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
        with("/dynamodb/Keys", json!({"pk": {"S": "acme#c"}, "sk": {"S": SORT_KEY}, "other": {"S": "x"}})),
        with("/dynamodb/Keys", json!({"keyHash": {"S": "00"}})),
        with("/dynamodb/Keys/pk", json!({"S": "acme"})),
        with("/dynamodb/Keys/pk", json!({"N": "1"})),
        with("/dynamodb/Keys/sk", json!({"S": "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#0001#e899fb409dc0a9a3"})),
        with("/dynamodb/Keys/sk", json!({"S": "2026-11-20T22:33:44.123Z"})),
        with("/dynamodb/NewImage", Value::Null),
        with("/dynamodb/NewImage/data", json!({"B": "YQ=="})),
        with("/dynamodb/NewImage/data", json!({"N": "one"})),
        without("customerId"),
        without("eventType"),
        without("data"),
        customer("INSERT", None, None),
        customer("MODIFY", None, Some(&profile("2026-11-20T22:33:44.123Z", "Rome"))),
        customer("INSERT", None, Some(&profile("yesterday", "Rome"))),
        customer("INSERT", None, Some(&json!({"city": {"S": "Rome"}}))),
    ] {
        assert!(event(&record).is_err(), "{record}");
    }
}
