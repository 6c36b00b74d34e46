//! The newest update of each field wins, whatever another clock said (docs/outages.md, An
//! update of a customer).

use std::time::Duration;

use futures_util::future::join_all;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::customers::StoredPart;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::support::clock::{NOW, earlier, later};
use crate::support::stack::{NO_MESSAGES, Stack, number, slow, text};
use crate::support::updates::{assert_result, fence};

/// What wrote a field with a clock that is ahead.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    Process,
    Import,
    Drain,
}

impl Stack {
    /// Sets `zip` of the customer by a clock that shows this time.
    async fn set_zip(&self, ahead: Ahead, time: Timestamp) {
        let zip = json!({"zip": "89073"});
        match ahead {
            Ahead::Process => self.store_update(zip, time).await,
            Ahead::Import => assert_eq!(self.import(zip, time).await, StoredPart::Whole),
            Ahead::Drain => {
                // The part of an update that a drain writes over a newer item raises the fence of
                // the item to the time of the drain.
                let messages = self.defer_update(zip, NOW).await;
                self.store_update(json!({"state": "BW"}), later(1)).await;
                let failed = self.drain_at(&messages, time).await;
                assert_eq!(failed, NO_MESSAGES);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn deferred_update_wins_over_older_ones_although_another_field_is_ahead() {
    for ahead in [Ahead::Process, Ahead::Import, Ahead::Drain] {
        for seconds in [60, 290, 3600] {
            let stack = Stack::start([]);
            // The field has a fence already, which the next update of it replaces by its own.
            stack
                .store_update(json!({"city": "oldest"}), earlier(1))
                .await;
            stack.set_zip(ahead, later(seconds)).await;
            let response = stack.update(json!({"city": "old"}), later(2)).await;
            assert_result(&response, "updated");
            let item = stack.customer();
            assert_eq!(
                text(&item, "updatedAt"),
                response.json()["updatedAt"].as_str(),
                "{ahead:?} {seconds}"
            );
            let messages = stack
                .defer_update(json!({"city": "NEWEST"}), later(4))
                .await;
            stack.drain_messages(&messages).await;
            let item = stack.customer();
            let case = format!("{ahead:?}, {seconds} s ahead");
            assert_eq!(text(&item, "city"), Some("NEWEST"), "{case}");
            assert_eq!(text(&item, "zip"), Some("89073"), "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn import_stores_the_fields_that_are_not_newer() {
    let stack = Stack::start([]);
    stack.store_update(json!({"city": "Ulm"}), NOW).await;
    let older = earlier(3_600);
    let line = json!({"city": "Rom", "zip": "1", "points": 1.50});
    assert_eq!(stack.import(line.clone(), older).await, StoredPart::Some);
    let item = stack.customer();
    assert_eq!(text(&item, "city"), Some("Ulm"));
    assert_eq!(text(&item, "zip"), Some("1"));
    assert_eq!(fence(&item, "fence:zip") >> 20, older.millis());
    // The same line changes nothing, not even the time of the item.
    assert_eq!(stack.import(line, older).await, StoredPart::Newer);
    assert_eq!(stack.customer(), item);
    // A line of the same time that is imported later wins, an older one does not.
    let corrected = json!({"zip": "2"});
    assert_eq!(stack.import(corrected, older).await, StoredPart::Whole);
    let oldest = json!({"zip": "0", "points": null});
    assert_eq!(
        stack.import(oldest, earlier(3_601)).await,
        StoredPart::Newer
    );
    let item = stack.customer();
    assert_eq!(text(&item, "zip"), Some("2"));
    assert_eq!(text(&item, "createdAt"), Some(&*NOW.to_string()));
}

#[tokio::test(start_paused = true)]
async fn import_of_an_update_older_than_a_deleted_fence_brings_no_removed_field_back() {
    let days_ago = |days: u64| NOW.minus(Duration::from_hours(days * 24));
    let stack = Stack::start([]);
    assert_eq!(
        stack.import(json!({"points": null}), days_ago(40)).await,
        StoredPart::Whole
    );
    stack.store_update(json!({"city": "Ulm"}), later(60)).await;
    // The update by a slower clock deletes the fence of the removed field.
    stack.store_update(json!({"zip": "1"}), NOW).await;
    let item = stack.customer();
    assert!(!item.contains_key("fence:points"), "{item:?}");
    assert_eq!(fence(&item, "fence:fence") >> 20, days_ago(40).millis());
    let line = |value: u64| json!({"points": value, "other": value, "zip": "0"});
    for time in [days_ago(41), days_ago(40)] {
        assert_eq!(stack.import(line(1), time).await, StoredPart::Newer);
    }
    assert_eq!(stack.customer(), item);
    assert_eq!(stack.import(line(2), days_ago(39)).await, StoredPart::Some);
    let item = stack.customer();
    assert_eq!(number(&item, "points"), "2");
    assert_eq!(number(&item, "other"), "2");
    assert_eq!(text(&item, "zip"), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn fence_that_is_deleted_while_an_import_is_under_way_limits_it() {
    let days_ago = |days: u64| NOW.minus(Duration::from_hours(days * 24));
    let stack = Stack::start([]);
    stack.store_update(json!({"city": "Ulm"}), later(60)).await;
    let tombstone_version = ("fence:fence".to_owned(), fence_at(days_ago(40)));
    let import = Box::pin(stack.import(json!({"other": 1}), days_ago(41)));
    let meanwhile = async { stack.set_attributes([tombstone_version]) };
    let part = stack.run_before_conditional_write(import, meanwhile).await;
    assert_eq!(part, StoredPart::Newer);
    assert!(!stack.customer().contains_key("other"));
}

#[tokio::test(start_paused = true)]
async fn update_that_arrives_replaces_a_field_that_another_clock_wrote_ahead() {
    let stack = Stack::start([]);
    stack
        .store_update(json!({"city": "Rom"}), later(3600))
        .await;
    let before = stack.customer();
    stack.store_update(json!({"city": "Ulm"}), NOW).await;
    let item = stack.customer();
    assert_eq!(text(&item, "city"), Some("Ulm"));
    assert!(fence(&item, "fence:city") > fence(&before, "fence:city"));
    assert!(fence(&item, "fence") > fence(&before, "fence"));
}

#[tokio::test(start_paused = true)]
async fn update_over_a_newer_item_takes_back_nothing_that_is_written_meanwhile() {
    for other in [json!({"city": "Bonn"}), json!({"state": "NRW"})] {
        let stack = Stack::start([]);
        stack.store_update(json!({"zip": "1"}), later(60)).await;
        let mut before = None;
        let update = Box::pin(stack.update(json!({"city": "Ulm"}), NOW));
        let meanwhile = async {
            stack.store_update(other.clone(), later(120)).await;
            before = Some(stack.customer());
        };
        let response = stack
            .run_before_conditional_write(update, Box::pin(meanwhile))
            .await;
        let before = before.unwrap();
        assert_eq!(response.status, 200, "{response:?}");
        let item = stack.customer();
        assert_eq!(text(&item, "city"), Some("Ulm"), "{other}");
        for (name, value) in &before {
            if name.starts_with("fence") && value["N"].is_string() {
                assert!(
                    fence(&item, name) >= fence(&before, name),
                    "{other}: {name}"
                );
            }
        }
        assert!(
            text(&item, "updatedAt") >= text(&before, "updatedAt"),
            "{other}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn update_over_a_newer_item_that_is_erased_meanwhile_is_stored_whole() {
    let stack = Stack::start([]);
    stack.store_update(json!({"zip": "1"}), later(60)).await;
    let erase = async { stack.erase() };
    let update = Box::pin(stack.update(json!({"city": "Ulm"}), NOW));
    let response = stack.run_before_conditional_write(update, erase).await;
    assert_result(&response, "created");
    let item = stack.customer();
    assert_eq!(text(&item, "city"), Some("Ulm"));
    assert_eq!(text(&item, "zip"), None);
    assert_eq!(text(&item, "customerId"), Some("c"));
}

/// A fence of this time.
fn fence_at(time: Timestamp) -> Value {
    json!({"N": (time.millis() << 20).to_string()})
}

#[tokio::test(start_paused = true)]
async fn fence_of_a_field_removed_long_ago_goes_with_the_next_update_that_meets_it() {
    let stack = Stack::start([]);
    stack.store_update(json!({"city": "Rom"}), later(60)).await;
    let days_ago = |days: u64| fence_at(NOW.minus(Duration::from_hours(days * 24)));
    stack.set_attributes([
        ("fence:removed-long-ago".to_owned(), days_ago(30)),
        ("fence:removed-lately".to_owned(), days_ago(27)),
        ("fence:set-long-ago".to_owned(), days_ago(30)),
        ("set-long-ago".to_owned(), json!({"S": "x"})),
    ]);
    stack.store_update(json!({"zip": "1"}), NOW).await;
    let item = stack.customer();
    assert!(!item.contains_key("fence:removed-long-ago"), "{item:?}");
    for kept in ["fence:removed-lately", "fence:set-long-ago", "set-long-ago"] {
        assert!(item.contains_key(kept), "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn field_removed_long_ago_can_be_set_again() {
    let stack = Stack::start([]);
    stack.store_update(json!({"city": "Rom"}), later(60)).await;
    let old = fence_at(NOW.minus(Duration::from_hours(30 * 24)));
    let name = "fence:zip".to_owned();
    stack.set_attributes([(name.clone(), old)]);
    let before = stack.customer();
    stack.store_update(json!({"zip": "1"}), NOW).await;
    let item = stack.customer();
    assert_eq!(text(&item, "zip"), Some("1"));
    assert!(fence(&item, &name) > fence(&before, &name));
}

#[tokio::test(start_paused = true)]
async fn fence_of_a_removed_field_that_is_set_meanwhile_is_kept() {
    let stack = Stack::start([]);
    stack.store_update(json!({"city": "Rom"}), later(60)).await;
    let old = fence_at(NOW.minus(Duration::from_hours(30 * 24)));
    let name = "fence:removed-long-ago".to_owned();
    stack.set_attributes([(name.clone(), old)]);
    let update = Box::pin(stack.update(json!({"zip": "1"}), NOW));
    let meanwhile = async { stack.set_attributes([(name.clone(), fence_at(NOW))]) };
    let response = stack.run_before_conditional_write(update, meanwhile).await;
    assert_eq!(response.status, 200, "{response:?}");
    let item = stack.customer();
    assert_eq!(item.get(&name), Some(&fence_at(NOW)));
    assert_eq!(text(&item, "zip"), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn fence_of_a_removed_field_that_an_import_sets_below_the_tombstone_version_is_kept() {
    let stack = Stack::start([]);
    stack.store_update(json!({"city": "Rom"}), later(60)).await;
    let days_ago = |days: u64| NOW.minus(Duration::from_hours(days * 24));
    let name = "fence:x".to_owned();
    stack.set_attributes([
        (name.clone(), fence_at(days_ago(40))),
        ("fence:y".to_owned(), fence_at(days_ago(30))),
    ]);
    // The tombstone version of the write that follows is the fence of y.
    let update = Box::pin(stack.update(json!({"zip": "1"}), NOW));
    let imported = fence_at(days_ago(35));
    let meanwhile = async {
        stack.set_attributes([
            (name.clone(), imported.clone()),
            ("x".to_owned(), json!({"S": "of an import"})),
        ]);
    };
    let response = stack.run_before_conditional_write(update, meanwhile).await;
    assert_eq!(response.status, 200, "{response:?}");
    let item = stack.customer();
    assert_eq!(text(&item, "x"), Some("of an import"));
    assert_eq!(item.get(&name), Some(&imported));
    assert!(!item.contains_key("fence:y"), "{item:?}");
    assert_eq!(text(&item, "zip"), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn drain_of_a_customer_that_is_written_all_the_time_ends() {
    let stack = Stack::start([]);
    let messages = stack.defer_update(json!({"zip": "89073"}), NOW).await;
    stack.set([slow(10).always()]);
    let now = || NOW.plus(stack.aws.elapsed());
    let (done, is_done) = watch::channel(false);
    let writer = async |n: usize| {
        while !*is_done.borrow() {
            let city = json!({"city": n.to_string()});
            stack.store_update(city, now()).await;
        }
    };
    let drain = async {
        // The drain begins after the first updates of the writers.
        sleep(Duration::from_millis(50)).await;
        let drained = stack.timed(stack.drain_at(&messages, now())).await;
        done.send(true).unwrap();
        drained
    };
    let ((failed, took), _) = tokio::join!(drain, join_all((0..40).map(writer)));
    assert_eq!(failed, NO_MESSAGES);
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(text(&stack.customer(), "zip"), Some("89073"));
}
