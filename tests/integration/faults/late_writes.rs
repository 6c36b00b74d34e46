//! An attempt that the function has abandoned reaches DynamoDB after a newer write was
//! acknowledged.

use std::time::Duration;

use aws::deadline::Deadline;
use futures_util::future::join_all;
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::timestamp::Timestamp;
use serde_json::json;
use store::customers::{CustomersTable, NewerField, StoredPart, Upsert};
use store::fence::UpdateMark;
use testkit::fault_proxy::{Fault, Plan};
use testkit::{RequestBuilder, client_at, table_name};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy};
use crate::support::clock::{NOW, earlier, later};
use crate::support::overflow_stack::{OverflowStack, text};

/// What writes an update over a newer item field by field.
#[derive(Clone, Copy, Debug)]
enum Writer {
    Request,
    Drain,
    Import,
}

fn city(city: &str) -> RequestBuilder {
    RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": city}}))
}

#[tokio::test]
async fn late_attempt_does_not_overwrite_a_newer_update() {
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Fault::Held.on_call(1)).await;
    let first = app.send(city("Ulm").key(&key)).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(first.json()["result"], "created", "{}", first.text);
    let second = app.send(city("Bonn").key(&key)).await;
    assert_eq!(second.status, 200, "{}", second.text);
    assert_eq!(second.json()["result"], "updated", "{}", second.text);
    let applied = proxy.apply_held().await.unwrap();
    assert_eq!(applied, 1);
    let item = app.customer("shop", "c").await.unwrap();
    assert_eq!(item["city"].as_s().unwrap(), "Bonn");
    assert_eq!(
        item["updatedAt"].as_s().unwrap(),
        second.json()["updatedAt"].as_str().unwrap()
    );
}

/// A clock that is ahead raises the fence of the item; then the customer is erased, and slower clocks
/// create it anew. The condition on fences alone would be true of the new item.
#[tokio::test]
async fn late_attempt_undoes_nothing_of_a_customer_that_was_erased_and_created_anew() {
    let writers = [Writer::Request, Writer::Drain, Writer::Import];
    let with_incarnation = writers.map(|writer| (writer, true));
    // An item that was written before there were incarnations has none.
    for (writer, has_incarnation) in with_incarnation
        .into_iter()
        .chain([(Writer::Request, false)])
    {
        let stack = OverflowStack::start(Plan::none()).await;
        let old = json!({"city": "old", "state": "of the erased person"});
        let messages = match writer {
            Writer::Drain => stack.defer_update(&old, NOW).await,
            Writer::Request | Writer::Import => Vec::new(),
        };
        stack.store_update(json!({"zip": "1"}), later(300)).await;
        if !has_incarnation {
            let mut item = stack.customer().await;
            item.remove("fence:pk").unwrap();
            stack.put_customer(item).await;
        }
        let held = Fault::Held.on_call(1).where_body_has("attribute_exists");
        stack.proxy.set(held);
        match writer {
            Writer::Request => stack.store_update(&old, NOW).await,
            Writer::Drain => stack.drain_messages(&messages).await,
            Writer::Import => {
                let part = stack.import(old, NOW).await;
                assert_eq!(part, StoredPart::Whole);
            }
        }
        assert_eq!(text(&stack.customer().await, "city"), Some("old"));
        stack.erase().await;
        for (n, profile) in [json!({"city": "new"}), json!({"city": "newer"})]
            .iter()
            .enumerate()
        {
            let slow_clock = earlier(60 - n as u64);
            stack.store_update(profile, slow_clock).await;
        }
        let before = stack.customer().await;
        let case = format!("{writer:?}, {has_incarnation}");
        assert_eq!(stack.proxy.apply_held().await.unwrap(), 1, "{case}");
        assert_eq!(stack.customer().await, before, "{case}");
    }
}

#[tokio::test]
async fn update_with_an_older_time_goes_above_the_stored_one() {
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Plan::none()).await;
    let ahead = NOW;
    assert_eq!(
        app.send(city("Ulm").key(&key).received_at(ahead))
            .await
            .status,
        200
    );
    let before = proxy.counts().calls_of("UpdateItem");
    let zip =
        RequestBuilder::customer(json!({"customerId": "c", "customerData": {"zip": "89073"}}));
    let response = app.send(zip.key(&key).received_at(earlier(60))).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["result"], "updated");
    // One fence in a thousand is so high that the next one has the next millisecond.
    let updated_at = response.json()["updatedAt"].as_str().unwrap().to_owned();
    assert!(
        ["2026-11-20T22:33:44.123Z", "2026-11-20T22:33:44.124Z"].contains(&updated_at.as_str()),
        "{updated_at}"
    );
    assert_eq!(proxy.counts().calls_of("UpdateItem") - before, 2);
    let item = app.customer("shop", "c").await.unwrap();
    assert_eq!(item["city"].as_s().unwrap().as_str(), "Ulm");
    assert_eq!(item["zip"].as_s().unwrap().as_str(), "89073");
    assert_eq!(
        item["createdAt"].as_s().unwrap(),
        "2026-11-20T22:33:44.123Z"
    );
}

#[tokio::test]
async fn late_attempt_of_the_same_millisecond_undoes_nothing_of_a_newer_update() {
    let now = NOW;
    // Which of two random fences of a millisecond is the higher one differs from round to round.
    for round in 0..8 {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(Fault::Held.on_call(1)).await;
        let older = RequestBuilder::customer(
            json!({"customerId": "c", "customerData": {"city": "Ulm", "zip": "89073"}}),
        );
        let first = app.send(older.key(&key).received_at(now)).await;
        let second = app.send(city("Bonn").key(&key).received_at(now)).await;
        assert_eq!(first.json()["result"], "created", "round {round}");
        assert_eq!(second.json()["result"], "updated", "round {round}");
        let applied = proxy.apply_held().await.unwrap();
        assert_eq!(applied, 1);
        let item = app.customer("shop", "c").await.unwrap();
        assert_eq!(item["city"].as_s().unwrap(), "Bonn", "round {round}");
        assert_eq!(item["zip"].as_s().unwrap(), "89073", "round {round}");
    }
}

#[tokio::test]
async fn update_of_the_millisecond_of_the_creation_is_no_creation_although_its_answer_is_lost() {
    let now = NOW;
    // In about half of the rounds, the update meets an item with a higher fence, and writes over
    // that. Then DynamoDB's answer is lost.
    let mut lost_answers = 0;
    for round in 0..32 {
        let lost = Fault::ResetAfter
            .on_call(1)
            .where_body_has("attribute_exists");
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(lost).await;
        let first = app.send(city("Ulm").key(&key).received_at(now)).await;
        let second = app.send(city("Bonn").key(&key).received_at(now)).await;
        assert_eq!(first.json()["result"], "created", "round {round}");
        assert_eq!(second.json()["result"], "updated", "round {round}");
        lost_answers += proxy.counts().faulted;
    }
    assert!(lost_answers > 0, "no answer was lost in any round");
}

#[tokio::test]
async fn own_late_attempt_is_the_update_and_is_not_written_again() {
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Fault::ResetAfter.on_call(1)).await;
    for (n, result) in ["created", "updated"].into_iter().enumerate() {
        proxy.set(Fault::ResetAfter.on_call(1));
        let response = app.send(city(&format!("city {n}")).key(&key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        assert_eq!(
            response.json()["result"],
            json!(result),
            "{}",
            response.text
        );
        let item = app.customer("shop", "c").await.unwrap();
        assert_eq!(
            item["updatedAt"].as_s().unwrap(),
            response.json()["updatedAt"].as_str().unwrap()
        );
    }
    // Each update is two calls: the one whose response is lost, and the one that finds its fence.
    assert_eq!(proxy.counts().calls_of("UpdateItem"), 4);
}

#[tokio::test]
async fn concurrent_updates_of_one_customer_all_succeed_within_few_calls() {
    const UPDATES: usize = 100;
    let AppBehindProxy {
        app: _app, proxy, ..
    } = app_behind_proxy(Plan::none()).await;
    let table = CustomersTable::new(client_at(&proxy.endpoint()), table_name("CustomersTable"));
    let update =
        CustomerUpdate::parse(JsonText::parse(r#"{"customerId":"c","customerData":{}}"#).unwrap())
            .unwrap();
    let account = "shop".parse().unwrap();
    let now = Timestamp::now();
    // The deadline is so late that a busy machine cannot decide the outcome.
    let deadline = Deadline::after(Duration::from_mins(5));
    let updates = (0..UPDATES).map(async |n| {
        // Each update has a millisecond of its own: by that, it knows that it created the customer.
        let now = now.plus(Duration::from_millis(n as u64));
        let upsert = Upsert {
            account_id: &account,
            update: &update,
            mark: UpdateMark::new(now),
            newer_field: NewerField::Replace,
            now,
        };
        table.upsert(upsert, deadline).await
    });
    let created = join_all(updates)
        .await
        .into_iter()
        .filter(|outcome| outcome.as_ref().unwrap().is_new);
    assert_eq!(created.count(), 1);
    let calls = proxy.counts().calls_of("UpdateItem");
    assert!(calls < 10 * UPDATES as u64, "{calls} calls");
}

#[tokio::test]
async fn update_over_a_time_in_the_future_is_two_calls() {
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Plan::none()).await;
    let future: Timestamp = "2499-01-01T00:00:00.000Z".parse().unwrap();
    assert_eq!(
        app.send(city("Ulm").key(&key).received_at(future))
            .await
            .status,
        200
    );
    for n in 1..=5 {
        assert_eq!(app.send(city("Bonn").key(&key)).await.status, 200);
        assert_eq!(proxy.counts().calls_of("UpdateItem"), 1 + 2 * n);
    }
}
