//! Updates of customers that DynamoDB does not acknowledge in time, and their drain: the newest
//! update of each field wins.

use data_encoding::BASE64;
use serde_json::json;
use simulator::aws::faults::Fault;

use crate::support::clock::{NOW, later};
use crate::support::stack::{INVALID, Item, NO_MESSAGES, Stack, late, text};
use crate::support::updates::{assert_result, fence};

#[tokio::test(start_paused = true)]
async fn deferred_update_becomes_the_item_that_the_request_would_have_written() {
    let profile = r#"{"email":"","gender":null,"loyalty":{"points":12345678901234567890.5,"odd":"\ufffe\""},"more":1e30}"#;
    for fault in [
        Fault::Throttled,
        Fault::ServerError,
        Fault::ResponseLost,
        Fault::ResponseReplaced("<html></html>"),
        Fault::Hangs,
    ] {
        let stack = Stack::start([fault.clone().always()]);
        let response = stack.update(profile, NOW).await;
        assert_result(&response, "deferred");
        let body = response.json();
        assert_eq!(body["customerId"], "c", "{fault:?}");
        assert_eq!(body["updatedAt"], NOW.to_string(), "{fault:?}");
        assert_eq!(body["warnings"].as_array().unwrap().len(), 2, "{fault:?}");
        stack.set([]);
        stack.drain().await;
        assert_item_of_update(stack.customer(), &fault);
    }
}

/// The item is the one that the update of the test above writes.
fn assert_item_of_update(mut item: Item, fault: &Fault) {
    let written = fence(&item, "fence");
    for field in ["email", "gender", "loyalty", "more"] {
        assert_eq!(
            fence(&item, &format!("fence:{field}")),
            written,
            "{fault:?}"
        );
        item.remove(&format!("fence:{field}"));
    }
    assert_eq!(
        item["loyalty"]["M"]["points"]["N"], "12345678901234567890.5",
        "every digit"
    );
    let mut names: Vec<_> = item.keys().map(String::as_str).collect();
    names.sort_unstable();
    let own = [
        "accountId",
        "createdAt",
        "customerId",
        "email",
        "fence",
        "fence:pk",
        "fenceId",
        "loyalty",
        "more",
        "pk",
        "updatedAt",
    ];
    assert_eq!(names, own, "{fault:?}");
    assert_eq!(text(&item, "updatedAt"), Some(NOW.to_string().as_str()));
    let fence_id = item["fenceId"]["B"].as_str().unwrap();
    assert_eq!(BASE64.decode(fence_id.as_bytes()).unwrap().len(), 16);
}

#[tokio::test(start_paused = true)]
async fn field_that_a_newer_update_changed_is_kept_and_the_others_are_applied() {
    let stack = Stack::start([]);
    let created = stack
        .update(json!({"city": "Rom", "state": "x"}), NOW)
        .await;
    assert_result(&created, "created");
    let profile = json!({"city": "Ulm", "zip": "89073", "state": null});
    let messages = stack.defer_update(profile, later(1)).await;
    let updated = stack.update(json!({"city": "Bonn"}), later(2)).await;
    assert_result(&updated, "updated");
    let before = stack.customer();
    stack.drain_messages(&messages).await;
    let item = stack.customer();
    assert_eq!(text(&item, "city"), Some("Bonn"));
    assert_eq!(text(&item, "zip"), Some("89073"));
    assert_eq!(text(&item, "state"), None);
    assert!(
        fence(&item, "fence") > fence(&before, "fence"),
        "the stream sees the change as the newest"
    );
    assert!(
        text(&item, "updatedAt") >= Some(later(60).to_string().as_str()),
        "the time of the drain: {item:?}"
    );
    assert!(
        fence(&item, "fence:zip") < fence(&item, "fence:city"),
        "the field has the fence of its update"
    );
    // SQS may deliver a message twice.
    stack.drain_messages(&messages).await;
    assert_eq!(stack.customer(), item);
}

#[tokio::test(start_paused = true)]
async fn attempt_that_takes_effect_after_the_drain_changes_nothing() {
    let stack = Stack::start([late().always()]);
    let response = stack.update(json!({"city": "Ulm"}), NOW).await;
    assert_result(&response, "deferred");
    stack.set([]);
    stack.drain().await;
    stack.store_update(json!({"city": "Bonn"}), later(1)).await;
    let item = stack.customer();
    stack.await_late_calls(2).await;
    assert_eq!(stack.customer(), item);
}

#[tokio::test(start_paused = true)]
async fn field_that_is_changed_during_the_drain_is_kept() {
    let stack = Stack::start([]);
    let messages = stack
        .defer_update(json!({"city": "Ulm", "zip": "89073"}), NOW)
        .await;
    stack.store_update(json!({"city": "Bonn"}), later(1)).await;
    let update = stack.store_update(json!({"zip": "53111"}), later(2));
    let drain = stack.drain_messages(&messages);
    stack.run_before_conditional_write(drain, update).await;
    let item = stack.customer();
    assert_eq!(text(&item, "city"), Some("Bonn"));
    assert_eq!(text(&item, "zip"), Some("53111"));
}

#[tokio::test(start_paused = true)]
async fn drain_behind_the_clock_of_other_updates_takes_nothing_back() {
    let stack = Stack::start([]);
    let messages = stack
        .defer_update(json!({"city": "Ulm", "zip": "89073"}), NOW)
        .await;
    stack
        .store_update(json!({"city": "Bonn"}), later(120))
        .await;
    let update = async {
        stack
            .store_update(json!({"state": "NRW"}), later(180))
            .await;
    };
    let drain = stack.drain_messages(&messages);
    stack.run_before_conditional_write(drain, update).await;
    let item = stack.customer();
    assert_eq!(text(&item, "city"), Some("Bonn"));
    assert_eq!(text(&item, "zip"), Some("89073"));
    assert_eq!(text(&item, "state"), Some("NRW"));
    assert!(
        text(&item, "updatedAt") >= Some(later(180).to_string().as_str()),
        "{item:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn update_that_dynamodb_refuses_at_the_drain_becomes_a_dead_letter_with_its_reason() {
    let stack = Stack::start([]);
    let messages = stack.defer_update(json!({"city": "Ulm"}), NOW).await;
    stack.set([INVALID.always().for_operation("UpdateItem")]);
    stack.drain_messages(&messages).await;
    stack.assert_refused_dead_letter(&messages[0]);
}

#[tokio::test(start_paused = true)]
async fn message_of_a_newer_version_is_left_for_a_newer_function() {
    let stack = Stack::start([]);
    let mut messages = stack.defer_update(json!({"city": "Ulm"}), NOW).await;
    messages.push(json!({"version": 1, "unknown": true}).to_string());
    for message in &mut messages {
        *message = message.replace("\"version\":1", "\"version\":1000");
    }
    assert_eq!(stack.drain_and_return_failed(&messages).await, messages);
    assert_eq!(stack.take_messages(), NO_MESSAGES, "no dead letter");
}

/// The version that queued it had no documented field `city`, and took any customer.
#[tokio::test(start_paused = true)]
async fn queued_update_that_breaks_rules_of_this_version_is_stored_as_it_was_accepted() {
    let stack = Stack::start([]);
    let messages = stack.defer_update(json!({"city": "Ulm"}), NOW).await;
    let earlier: Vec<_> = messages
        .iter()
        .map(|message| {
            message
                .replace("\"customerId\":\"c\"", "\"customerId\":\"(null)\"")
                .replace("\"Ulm\"", "{\"name\":\"Ulm\"}")
        })
        .collect();
    stack.drain_messages(&earlier).await;
    assert_eq!(stack.take_dead_letters().len(), 0);
    let stored = stack.customer_with_id("(null)");
    assert_eq!(stored["city"], json!({"M": {"name": {"S": "Ulm"}}}));
}
