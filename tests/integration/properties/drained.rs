//! Whatever any set of rules accepted, a drain stores exactly: messages of the overflow queue with random
//! identifiers, and random values for each field, also of a type that the rules of this version refuse.

use std::cell::Cell;
use std::collections::BTreeMap;

use model::customer::attributes::is_reserved;
use model::customer::{CustomerUpdate, PROFILE_FIELDS};
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::reference_json::Exact;
use super::{PropertyApp, check, expected_signal, profile_of, strategies, subject_id};

const REQUEST_IDENTIFIER: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

impl PropertyApp {
    /// Drains a message. Returns whether it is not to be delivered again.
    fn drains(&self, message: String) -> bool {
        let messages = [message];
        let failed = self.app.drain(&messages, Timestamp::now());
        self.runtime.block_on(failed).is_empty()
    }
}

/// A value that DynamoDB stores exactly: no rules accept another one.
fn storable() -> impl Strategy<Value = String> {
    strategies::value().prop_filter("DynamoDB stores it", |value| {
        let signal = format!("{{\"customerId\":\"c\",\"eventType\":\"t\",\"more\":{value}}}");
        JsonText::parse(&signal)
            .is_ok_and(|text| Signal::parse(text.value(), 0, &JsonPointer::Root).is_ok())
    })
}

/// Any string, with its quotes.
fn identifier() -> impl Strategy<Value = String> {
    let strange = select(vec!["", " ", "null", "<nil>", "\u{200b}", "{{id}}"]);
    prop_oneof![
        2 => "[a-z0-9-]{1,12}",
        1 => "[ -~äé😀]{0,400}",
        1 => strange.prop_map(str::to_owned),
    ]
    .prop_map(|text| json!(text).to_string())
}

/// A name that neither a signal nor the item of a customer has itself.
fn unknown_name() -> impl Strategy<Value = String> {
    "[a-zA-Z_.#:/~-]{1,80}".prop_filter("no name of the item", |name| {
        !is_reserved(name) && !model::signal::SIGNAL_FIELDS.contains(&name.as_str())
    })
}

fn object(members: &BTreeMap<String, String>) -> String {
    let members: Vec<_> = members
        .iter()
        .map(|(name, value)| format!("{}:{value}", json!(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn signal() -> impl Strategy<Value = String> {
    let members = || btree_map(unknown_name(), storable(), 0..4);
    let identities = select(vec![
        ("customerId", "eventType"),
        ("emitterId", "stepNodeId"),
    ]);
    let texts = (
        identifier(),
        identifier(),
        proptest::option::of(identifier()),
    );
    (identities, texts, members(), members()).prop_map(
        |((subject, kind), (id, what, flow), data, mut signal)| {
            signal.insert(subject.to_owned(), id);
            signal.insert(kind.to_owned(), what);
            signal.insert("data".to_owned(), object(&data));
            if let Some(flow) = flow {
                signal.insert("eventflowIdentifier".to_owned(), flow);
            }
            object(&signal)
        },
    )
}

fn profile() -> impl Strategy<Value = String> {
    let documented = select(PROFILE_FIELDS.to_vec()).prop_map(str::to_owned);
    let name = prop_oneof![documented, Just("loyaltyTier".to_owned()), unknown_name()];
    btree_map(name, storable(), 0..40).prop_map(|members| object(&members))
}

#[test]
fn accepted_signals_are_stored_exactly_whatever_the_rules_of_this_version_are() {
    let fixture = PropertyApp::new();
    let refused_now = Cell::new(0);
    check(32, vec(signal(), 1..20), |signals| {
        let (account, _) = fixture.account();
        let texts = signals.iter().enumerate();
        let queued: Vec<_> = texts
            .map(|(index, text)| json!({"index": index, "text": text}))
            .collect();
        let message = json!({
            "kind": "batch", "version": 1, "accountId": account, "keyId": "key_0123456789ab",
            "requestIdentifier": REQUEST_IDENTIFIER, "needsRecord": true,
            "receivedAt": Timestamp::now(), "expiresAt": null, "bodyHash": "", "signalsHash": "",
            "signals": queued, "rejected": [],
        });
        prop_assert!(fixture.drains(message.to_string()));
        let is_refused = |text: &&String| {
            let value = JsonText::parse(text).unwrap().value();
            Signal::parse(value, 0, &JsonPointer::Root).is_err()
        };
        refused_now.set(refused_now.get() + signals.iter().filter(is_refused).count());
        let expected: BTreeMap<_, _> = signals
            .iter()
            .map(|signal| expected_signal(signal))
            .enumerate()
            .collect();
        let subject_ids = expected.values().map(subject_id).collect();
        prop_assert_eq!(fixture.stored_signals(&account, &subject_ids), expected);
        Ok(())
    });
    // Without this floor, the rules of this version would pass as well.
    let refused_now = refused_now.get();
    assert!(
        refused_now >= 60,
        "{refused_now} signals that are refused now"
    );
}

#[test]
fn accepted_update_is_stored_exactly_whatever_the_rules_of_this_version_are() {
    let fixture = PropertyApp::new();
    let refused_now = Cell::new(0);
    check(64, (identifier(), profile()), |(id, profile)| {
        let (account, _) = fixture.account();
        let update = format!("\"customerId\":{id},\"customerData\":{profile}");
        let message = format!(
            r#"{{"kind":"update","version":1,"accountId":"{account}","keyId":"key_0123456789ab","fence":1882418340558799265,"id":"{REQUEST_IDENTIFIER}",{update}}}"#
        );
        prop_assert!(fixture.drains(message));
        let request = format!("{{{update}}}");
        let parsed = CustomerUpdate::parse(JsonText::parse(&request).unwrap());
        refused_now.set(refused_now.get() + usize::from(parsed.is_err()));
        let id: String = serde_json::from_str(&id).unwrap();
        let stored = fixture
            .runtime
            .block_on(fixture.app.customer(&account, &id));
        prop_assert!(stored.is_some());
        let sent = Exact::from_text(&profile).into_members().into_iter();
        let sent = sent.filter(|(_, value)| *value != Exact::Null);
        prop_assert_eq!(profile_of(&stored.unwrap()), sent.collect());
        Ok(())
    });
    let refused_now = refused_now.get();
    assert!(
        refused_now >= 30,
        "{refused_now} updates that are refused now"
    );
}

#[test]
fn whatever_is_accepted_now_is_read_again_and_no_other_text_does_harm() {
    let read_again = Cell::new(0);
    check(1_000, strategies::signal(), |text| {
        let Ok(json) = JsonText::parse(&text) else {
            return Ok(());
        };
        let again = Signal::read_accepted(json.value(), 0);
        if let Ok(signal) = Signal::parse(json.value(), 0, &JsonPointer::Root) {
            let again = again.unwrap();
            prop_assert_eq!(again.subject_id(), signal.subject_id());
            prop_assert_eq!(again.eventflow_identifier(), signal.eventflow_identifier());
            prop_assert_eq!(again.data(), signal.data());
            read_again.set(read_again.get() + 1);
        }
        Ok(())
    });
    check(1_000, strategies::customer("c"), |(_, request)| {
        let Ok(json) = JsonText::parse(&request) else {
            return Ok(());
        };
        let again = CustomerUpdate::read_accepted(json);
        if let Ok(update) = CustomerUpdate::parse(json) {
            let again = again.unwrap();
            prop_assert_eq!(again.customer_id(), update.customer_id());
            prop_assert_eq!(again.changes().len(), update.changes().len());
            read_again.set(read_again.get() + 1);
        }
        Ok(())
    });
    let read_again = read_again.get();
    assert!(read_again >= 800, "{read_again} texts were accepted");
}
