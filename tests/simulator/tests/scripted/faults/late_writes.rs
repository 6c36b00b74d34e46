//! An attempt that the function has abandoned reaches DynamoDB after a newer write was
//! acknowledged.

use std::time::Duration;

use aws::deadline::Deadline;
use futures_util::future::join_all;
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::timestamp::Timestamp;
use serde_json::json;
use simulator::aws::faults::Fault;
use simulator::environment::customers_table;
use store::customers::{NewerField, StoredPart, Upsert};
use store::fence::UpdateMark;

use crate::support::clock::{NOW, earlier, later};
use crate::support::stack::{LATENCY, Stack, late, text};
use crate::support::updates::assert_result;

/// What writes an update over a newer item field by field.
#[derive(Clone, Copy, Debug)]
enum Writer {
    Request,
    Drain,
    Import,
}

/// A clock that is ahead raises the fence of the item; then the customer is erased, and slower clocks
/// create it anew. The condition on fences alone would be true of the new item.
#[tokio::test(start_paused = true)]
async fn late_attempt_undoes_nothing_of_a_customer_that_was_erased_and_created_anew() {
    for writer in [Writer::Request, Writer::Drain, Writer::Import] {
        let stack = Stack::start([]);
        let old = json!({"city": "old", "state": "of the erased person"});
        let messages = match writer {
            Writer::Drain => stack.defer_update(&old, NOW).await,
            Writer::Request | Writer::Import => Vec::new(),
        };
        stack.store_update(json!({"zip": "1"}), later(300)).await;
        let faulted = stack.faulted();
        stack.set([late().where_body_has("attribute_exists").on_call(1)]);
        match writer {
            Writer::Request => stack.store_update(&old, NOW).await,
            Writer::Drain => stack.drain_messages(&messages).await,
            Writer::Import => {
                let part = stack.import(old, NOW).await;
                assert_eq!(part, StoredPart::Whole);
            }
        }
        assert_eq!(text(&stack.customer(), "city"), Some("old"));
        stack.erase();
        for (n, profile) in [json!({"city": "new"}), json!({"city": "newer"})]
            .iter()
            .enumerate()
        {
            let slow_clock = earlier(60 - n as u64);
            stack.store_update(profile, slow_clock).await;
        }
        let before = stack.customer();
        stack.await_late_calls(faulted + 1).await;
        assert_eq!(stack.customer(), before, "{writer:?}");
    }
}

/// Whether it is another item after an erasure cannot be told of an item that Intake did not write.
#[tokio::test(start_paused = true)]
async fn update_over_a_newer_item_without_a_generation_changes_nothing_and_says_why() {
    let stack = Stack::start([]);
    let messages = stack.defer_update(json!({"city": "Rom"}), NOW).await;
    stack.store_update(json!({"zip": "1"}), later(300)).await;
    let mut item = stack.customer();
    item.remove("fence:pk").unwrap();
    stack.put_customer(&item);
    stack.take_lines();
    let response = stack.update(json!({"city": "Ulm"}), NOW).await;
    response.assert_problem(500, "internal-error");
    assert_eq!(stack.drain_and_return_failed(&messages).await, messages);
    let lines = stack.take_lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        assert_eq!(line["storeError"], "CorruptItem", "{line}");
    }
    assert_eq!(stack.customer(), item);
}

#[tokio::test(start_paused = true)]
async fn update_with_an_older_time_goes_above_the_stored_one() {
    let stack = Stack::start([]);
    stack.store_update(json!({"city": "Ulm"}), NOW).await;
    let response = stack.update(json!({"zip": "89073"}), earlier(60)).await;
    assert_result(&response, "updated");
    // One fence in a thousand is so high that the next one has the next millisecond.
    let updated_at = response.json()["updatedAt"].as_str().unwrap().to_owned();
    let next = NOW.plus(Duration::from_millis(1));
    assert!([NOW, next].map(|at| at.to_string()).contains(&updated_at));
    assert_eq!(stack.calls_of("UpdateItem"), 3);
    let item = stack.customer();
    assert_eq!(text(&item, "city"), Some("Ulm"));
    assert_eq!(text(&item, "zip"), Some("89073"));
    assert_eq!(text(&item, "createdAt"), Some(&*NOW.to_string()));
}

#[tokio::test(start_paused = true)]
async fn late_attempt_of_the_same_millisecond_undoes_nothing_of_a_newer_update() {
    // Which of two random fences of a millisecond is the higher one differs from round to round.
    for round in 0..32 {
        let stack = Stack::start([late().on_call(1)]);
        fastrand::seed(round);
        let older = json!({"city": "Ulm", "zip": "89073"});
        let first = stack.update(older, NOW).await;
        assert_result(&first, "created");
        let second = stack.update(json!({"city": "Bonn"}), NOW).await;
        assert_result(&second, "updated");
        stack.await_late_calls(1).await;
        let item = stack.customer();
        assert_eq!(text(&item, "city"), Some("Bonn"), "round {round}");
        assert_eq!(text(&item, "zip"), Some("89073"), "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn update_of_the_millisecond_of_the_creation_is_no_creation_although_its_response_is_lost() {
    // In about half of the rounds, the update meets an item with a higher fence, and writes over
    // that. Then DynamoDB's response is lost.
    let mut lost_responses = 0;
    for round in 0..32 {
        let lost = Fault::ResponseLost.where_body_has("attribute_exists");
        let stack = Stack::start([lost.on_call(1)]);
        fastrand::seed(round);
        let first = stack.update(json!({"city": "Ulm"}), NOW).await;
        assert_result(&first, "created");
        let second = stack.update(json!({"city": "Bonn"}), NOW).await;
        assert_result(&second, "updated");
        lost_responses += stack.faulted();
    }
    assert!((8..=24).contains(&lost_responses), "{lost_responses}");
}

#[tokio::test(start_paused = true)]
async fn own_late_attempt_is_the_update_and_is_not_written_again() {
    let stack = Stack::start([]);
    for (n, result) in (0..).zip(["created", "updated"]) {
        stack.set([Fault::ResponseLost.on_call(1)]);
        let response = stack.update(json!({"city": n.to_string()}), later(n)).await;
        assert_result(&response, result);
        assert_eq!(
            text(&stack.customer(), "updatedAt"),
            response.json()["updatedAt"].as_str()
        );
    }
    // Each update is two calls: the one whose response is lost, and the one that finds its fence.
    assert_eq!(stack.calls_of("UpdateItem"), 4);
}

#[tokio::test(start_paused = true)]
async fn concurrent_updates_of_one_customer_all_succeed_within_few_calls() {
    const UPDATES: u64 = 100;
    let stack = Stack::start([]);
    let table = customers_table(&stack.operator);
    let text = JsonText::parse(r#"{"customerId":"c","customerData":{}}"#).unwrap();
    let update = CustomerUpdate::parse(text).unwrap();
    let account = "shop".parse().unwrap();
    let deadline = Deadline::after(Duration::from_secs(10));
    let updates = (0..UPDATES).map(async |n| {
        // Each update has a millisecond of its own: by that, it knows that it created the customer.
        let now = NOW.plus(Duration::from_millis(n));
        let upsert = Upsert {
            account_id: &account,
            update: &update,
            mark: UpdateMark::new(now),
            newer_field: NewerField::Replace,
            now,
        };
        table.upsert(upsert, deadline).await
    });
    let (outcomes, took) = stack.timed(join_all(updates)).await;
    let outcomes = outcomes.into_iter();
    let created = outcomes.filter(|outcome| outcome.as_ref().unwrap().is_new);
    assert_eq!(created.count(), 1);
    let calls = stack.calls_of("UpdateItem");
    assert!(calls < 10 * UPDATES, "{calls} calls");
    assert!(took < 100 * LATENCY, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn update_over_a_time_in_the_future_is_two_calls() {
    let stack = Stack::start([]);
    let future: Timestamp = "2499-01-01T00:00:00.000Z".parse().unwrap();
    stack.store_update(json!({"city": "Ulm"}), future).await;
    for n in 1..=5 {
        stack.store_update(json!({"city": "Bonn"}), later(n)).await;
        assert_eq!(stack.calls_of("UpdateItem"), 1 + 2 * n);
    }
}
