//! Reading what is stored: which attributes of an item have to agree, and the order of a history.

use std::time::Duration;

use consistency::checker::{Violation, check};
use consistency::{RunRecord, Stored, stored};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use super::assert_only;

const IDENTIFIER: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";
const RECEIVED_AT: &str = "2026-11-26T12:00:00.000Z";
const RETENTION: Duration = Duration::from_hours(24);

/// The item of a signal with this index in its request.
fn item(index: u64) -> Value {
    let received_at: Timestamp = RECEIVED_AT.parse().unwrap();
    let expires_at = received_at.plus(RETENTION).seconds();
    json!({
        "pk": {"S": "history-0#canary-7e1d-2"},
        "sk": {"S": format!("{RECEIVED_AT}#{IDENTIFIER}#{index:04}")},
        "accountId": {"S": "history-0"},
        "customerId": {"S": "canary-7e1d-2"},
        "requestIdentifier": {"S": IDENTIFIER},
        "receivedAt": {"S": RECEIVED_AT},
        "expiresAt": {"N": expires_at.to_string()},
        "data": {"M": {"request": {"N": "7"}, "n": {"N": index.to_string()}}},
    })
}

/// What is read where one table has these items, and the others have none.
fn read(of_table: &str, items: &[Value]) -> Stored {
    let for_each = |table: &str, each: &mut dyn FnMut(&mut Value)| {
        if table == of_table {
            items.to_vec().iter_mut().for_each(each);
        }
    };
    stored::read(for_each, RETENTION)
}

#[test]
fn attributes_of_an_item_that_do_not_agree_are_a_contradiction() {
    let contradiction = |item| read("SignalsTable", &[item]).signals[0].contradiction;
    assert_eq!(contradiction(item(0)), None);
    let not_a_uuid = json!({
        "requestIdentifier": {"S": "x"},
        "sk": {"S": format!("{RECEIVED_AT}#x#0000")},
    });
    let cases = [
        (
            json!({"pk": {"S": "x"}}),
            "its pk is not its account and customer or emitter",
        ),
        (
            json!({"sk": {"S": "x"}}),
            "its sk is not its time, requestIdentifier and index",
        ),
        (
            json!({"expiresAt": {"N": "1"}}),
            "it does not expire after the retention",
        ),
        (not_a_uuid, "its requestIdentifier is not a UUID"),
    ];
    for (change, expected) in cases {
        let mut item = item(0);
        for (name, value) in change.as_object().unwrap() {
            item[name] = value.clone();
        }
        assert_eq!(contradiction(item), Some(expected));
    }
}

#[test]
fn history_is_read_in_the_order_of_its_sort_keys() {
    let stored = read("SignalsTable", &[item(1), item(0)]);
    let indexes: Vec<_> = stored.signals.iter().map(|signal| signal.index).collect();
    assert_eq!(indexes, [0, 1]);
}

#[test]
fn customer_whose_id_no_client_sends_is_read_as_one_that_was_not_sent() {
    let customer = json!({"accountId": {"S": "history-0"}, "customerId": {"S": "another"}});
    let stored = read("CustomersTable", &[customer]);
    let report = check(&RunRecord::default(), &stored);
    assert_only(&report, Violation::Phantom);
}
