//! What clients sent is what the targets get, digit for digit.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use testkit::{RequestBuilder, TestApp};

use super::{BOTH, Delivery};
use crate::properties::{self, reference_json::Exact, strategies};

/// A stored item, as the image in a record of the stream.
fn image(item: &HashMap<String, AttributeValue>) -> Value {
    fn attribute(value: &AttributeValue) -> Value {
        match value {
            AttributeValue::S(text) => json!({"S": text}),
            AttributeValue::N(number) => json!({"N": number}),
            AttributeValue::Bool(value) => json!({"BOOL": value}),
            AttributeValue::L(list) => json!({"L": list.iter().map(attribute).collect::<Vec<_>>()}),
            AttributeValue::M(map) => json!({"M": image(map)}),
            other => {
                assert!(other.is_null(), "{other:?}");
                json!({"NULL": true})
            }
        }
    }
    Value::Object(item.iter().map(|(name, value)| (name.clone(), attribute(value))).collect::<Map<_, _>>())
}

/// The record of the insertion of an item.
fn insertion(sequence: usize, item: &HashMap<String, AttributeValue>) -> Value {
    let image = image(item);
    let keys = ["pk", "sk"].into_iter().filter_map(|name| Some((name.to_owned(), image.get(name)?.clone())));
    let keys = Value::Object(keys.collect());
    let change = json!({"Keys": keys, "NewImage": image, "SequenceNumber": sequence.to_string()});
    json!({"eventID": format!("{sequence:032x}"), "eventName": "INSERT", "dynamodb": change})
}

/// The members of an object without those that are null, which count as absent.
fn members(text: &str) -> BTreeMap<String, Exact> {
    Exact::of_text(text).into_members().into_iter().filter(|(_, value)| *value != Exact::Null).collect()
}

/// What the client sent, as a delivered signal has it.
fn expected_signal(text: &str) -> Exact {
    let mut sent = members(text);
    sent.entry("data".to_owned()).or_insert_with(|| Exact::Object(BTreeMap::new()));
    Exact::Object(sent)
}

fn text_of<'e>(event: &'e BTreeMap<String, Exact>, name: &str) -> &'e str {
    match event.get(name) {
        Some(Exact::String(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

/// The app and the function, and the async runtime of both.
struct Fixture {
    runtime: tokio::runtime::Runtime,
    app: TestApp,
    delivery: Delivery,
    cases: std::cell::Cell<usize>,
}

impl Fixture {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (app, delivery) = runtime.block_on(async { (TestApp::start(), Delivery::start(&BOTH[1..]).await) });
        Self { runtime, app, delivery, cases: std::cell::Cell::new(0) }
    }

    /// Sends a request of another account, and delivers what it stored in `table`. Returns the account and the events.
    fn round_trip(&self, call: RequestBuilder, table: &str) -> (String, Vec<BTreeMap<String, Exact>>) {
        let account = format!("account-{}", self.cases.replace(self.cases.get() + 1));
        let lines = self.runtime.block_on(async {
            let call = call.key(&self.app.key(&account).await);
            self.app.send(call).await;
            let mut items = self.app.items(table).await;
            items.retain(|item| item["accountId"].as_s().unwrap() == &account);
            let records: Vec<_> = items.iter().enumerate().map(|(n, item)| insertion(n, item)).collect();
            assert_eq!(self.delivery.first_undelivered(&records).await, None);
            let lines = self.delivery.lines_of_the_lake();
            assert_eq!(lines.len(), items.len());
            lines
        });
        (account, lines.iter().map(|line| Exact::of_text(line).into_members()).collect())
    }
}

#[test]
fn delivered_signals_equal_the_accepted_ones() {
    let fixture = Fixture::new();
    properties::check(48, strategies::batch(), |(signals, request)| {
        let (account, events) = fixture.round_trip(RequestBuilder::signals(&request), "SignalsTable");
        for event in events {
            let index: usize = text_of(&event, "id").rsplit_once('#').unwrap().1.parse().unwrap();
            let expected = expected_signal(&signals[index]);
            let sent = expected.clone().into_members();
            let (subject, event_type) = match sent.get("customerId") {
                Some(_) => ("customerId", "eventType"),
                None => ("emitterId", "stepNodeId"),
            };
            prop_assert_eq!(text_of(&event, "source"), format!("/accounts/{account}/signals"));
            prop_assert_eq!(text_of(&event, "subject"), text_of(&sent, subject));
            prop_assert_eq!(text_of(&event, "type"), text_of(&sent, event_type));
            prop_assert_eq!(&event["data"], &expected);
        }
        Ok(())
    });
}

#[test]
fn delivered_profile_equals_the_accepted_one() {
    let fixture = Fixture::new();
    properties::check(48, strategies::customer("c"), |(profile, request)| {
        let (_, events) = fixture.round_trip(RequestBuilder::customer(&request), "CustomersTable");
        for event in events {
            let new = event["data"].clone().into_members().remove("new");
            prop_assert_eq!(new, Some(Exact::Object(members(&profile))));
        }
        Ok(())
    });
}

#[test]
fn number_with_38_digits_keeps_them() {
    let fixture = Fixture::new();
    for number in [
        "12345678901234567890123456789012345678",
        "-0.12345678901234567890123456789012345678",
        "9.9999999999999999999999999999999999999E+125",
        "1E-130",
        "0.1",
        "100000000000000000000",
    ] {
        let request = format!(r#"{{"signals":[{{"customerId":"c","eventType":"t","data":{{"n":{number}}}}}]}}"#);
        let (_, events) = fixture.round_trip(RequestBuilder::signals(&request), "SignalsTable");
        let data = events[0]["data"].clone().into_members()["data"].clone();
        assert_eq!(data, Exact::of_text(&format!("{{\"n\":{number}}}")));
    }
}
