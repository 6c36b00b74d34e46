//! What clients sent is what the targets get, digit for digit.

use std::cell::Cell;
use std::collections::BTreeMap;

use harness::{Item, RequestBuilder};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::properties::{self, reference_json::Exact, strategies};
use crate::support::delivery::{Delivery, LAKE};
use crate::support::items::item_json;

/// The record of the insertion of an item.
fn insertion(sequence: usize, item: &Item) -> Value {
    let image = item_json(item);
    let keys = ["pk", "sk"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), image.get(name)?.clone())));
    let keys = Value::Object(keys.collect());
    let change = json!({"Keys": keys, "NewImage": image, "SequenceNumber": sequence.to_string()});
    json!({"eventID": format!("{sequence:032x}"), "eventName": "INSERT", "dynamodb": change})
}

/// The members of an object without those that are null, which count as absent.
fn members(text: &str) -> BTreeMap<String, Exact> {
    Exact::from_text(text)
        .into_members()
        .into_iter()
        .filter(|(_, value)| *value != Exact::Null)
        .collect()
}

/// What the client sent, as a delivered signal has it.
fn expected_signal(text: &str) -> Exact {
    let mut sent = members(text);
    sent.entry("data".to_owned())
        .or_insert_with(|| Exact::Object(BTreeMap::new()));
    Exact::Object(sent)
}

fn text_of<'e>(event: &'e BTreeMap<String, Exact>, name: &str) -> &'e str {
    match event.get(name) {
        Some(Exact::String(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

/// An app that stores, and the function that delivers what it stored.
struct RoundTrip {
    sender: properties::PropertyApp,
    delivery: Delivery,
}

impl RoundTrip {
    fn new() -> Self {
        let sender = properties::PropertyApp::new();
        let delivery = sender.runtime.block_on(Delivery::start(LAKE));
        Self { sender, delivery }
    }

    /// Sends a request of another account, and delivers what it stored in `table`. Returns the
    /// account and the events.
    fn round_trip(
        &self,
        call: RequestBuilder,
        table: &str,
    ) -> (String, Vec<BTreeMap<String, Exact>>) {
        let (account, key) = self.sender.account();
        self.sender.send(call.key(&key));
        let lines = self.sender.runtime.block_on(async {
            let mut items = self.sender.app.items(table).await;
            items.retain(|item| item["accountId"].as_s().unwrap() == &account);
            let records: Vec<_> = items
                .iter()
                .enumerate()
                .map(|(n, item)| insertion(n, item))
                .collect();
            assert_eq!(self.delivery.first_undelivered(&records).await, None);
            let lines = self.delivery.lines_of_the_lake();
            assert_eq!(lines.len(), items.len());
            lines
        });
        (
            account,
            lines
                .iter()
                .map(|line| Exact::from_text(line).into_members())
                .collect(),
        )
    }
}

#[test]
fn delivered_signals_equal_the_accepted_ones() {
    let fixture = RoundTrip::new();
    let all_delivered = Cell::new(0);
    properties::check(24, strategies::batch(), |(signals, request)| {
        let (account, events) =
            fixture.round_trip(RequestBuilder::signals(&request), "SignalsTable");
        all_delivered.set(all_delivered.get() + events.len());
        for event in events {
            let index: usize = text_of(&event, "id")
                .rsplit_once('#')
                .unwrap()
                .1
                .parse()
                .unwrap();
            let expected = expected_signal(&signals[index]);
            let sent = expected.clone().into_members();
            let (subject, event_type) = match sent.get("customerId") {
                Some(_) => ("customerId", "eventType"),
                None => ("emitterId", "stepNodeId"),
            };
            prop_assert_eq!(
                text_of(&event, "source"),
                format!("/accounts/{account}/signals")
            );
            prop_assert_eq!(text_of(&event, "subject"), text_of(&sent, subject));
            prop_assert_eq!(text_of(&event, "type"), text_of(&sent, event_type));
            prop_assert_eq!(&event["data"], &expected);
        }
        Ok(())
    });
    // Without this floor, a service that rejects everything would pass.
    let all_delivered = all_delivered.get();
    assert!(all_delivered >= 40, "{all_delivered} delivered signals");
}

#[test]
fn delivered_profile_equals_the_accepted_one() {
    let fixture = RoundTrip::new();
    let all_delivered = Cell::new(0);
    properties::check(48, strategies::customer("c"), |(profile, request)| {
        let (_, events) = fixture.round_trip(RequestBuilder::customer(&request), "CustomersTable");
        all_delivered.set(all_delivered.get() + events.len());
        for event in events {
            let new = event["data"].clone().into_members().remove("new");
            prop_assert_eq!(new, Some(Exact::Object(members(&profile))));
        }
        Ok(())
    });
    let all_delivered = all_delivered.get();
    assert!(all_delivered >= 20, "{all_delivered} delivered profiles");
}
