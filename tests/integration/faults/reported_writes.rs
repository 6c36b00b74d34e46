//! The proxy reports the writes that DynamoDB has done, whatever the function hears of them.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::fault_proxy::{Fault, Plan};
use tokio::sync::mpsc;

use super::{app_behind_proxy, without_identifier};

/// The sort keys of the signals in the reported writes.
fn reported(writes: &mut mpsc::UnboundedReceiver<Vec<u8>>) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    while let Ok(body) = writes.try_recv() {
        let write: Value = serde_json::from_slice(&body).unwrap();
        let batches =
            write.get("RequestItems").and_then(Value::as_object).into_iter().flat_map(|tables| tables.values());
        let items =
            batches.flat_map(|batch| batch.as_array().unwrap()).filter_map(|put| put.pointer("/PutRequest/Item"));
        let items = items.chain(write.get("Item")).filter_map(|item| item.pointer("/sk/S")?.as_str());
        keys.extend(items.map(ToOwned::to_owned));
    }
    keys
}

#[tokio::test]
async fn reported_writes_are_those_that_are_stored() {
    let faults = [
        Fault::Throttled,
        Fault::ServiceUnavailable,
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::CutBody,
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::Unprocessed { done: 0 },
        Fault::Unprocessed { done: 7 },
    ];
    for fault in faults {
        // The first call fails and is retried, or every call fails and some of the writes are done.
        for plan in [Plan::from(fault.at(1).of("BatchWriteItem")), fault.always().of("BatchWriteItem").into()] {
            let (app, proxy, key) = app_behind_proxy(plan).await;
            let (sender, mut writes) = mpsc::unbounded_channel();
            proxy.report_writes(sender);
            app.send(without_identifier(40).key(&key)).await;
            let stored: BTreeSet<_> =
                app.history("shop", "c").await.iter().map(|item| item["sk"].as_s().unwrap().clone()).collect();
            assert_eq!(reported(&mut writes), stored, "{fault:?}");
        }
    }
}

#[tokio::test]
async fn write_that_takes_effect_late_is_reported_then() {
    let (app, proxy, key) = app_behind_proxy(Fault::Held.always().of("BatchWriteItem")).await;
    let (sender, mut writes) = mpsc::unbounded_channel();
    proxy.report_writes(sender);
    app.send(without_identifier(3).key(&key)).await;
    assert_eq!(reported(&mut writes).len(), 0);
    proxy.apply_held().await.unwrap();
    assert_eq!((reported(&mut writes).len(), app.history("shop", "c").await.len()), (3, 3));
}
