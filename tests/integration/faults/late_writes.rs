//! An attempt that the function has abandoned reaches DynamoDB after a newer write was acknowledged.

use model::timestamp::Timestamp;
use serde_json::json;
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use super::app_behind_proxy;

fn city(city: &str) -> RequestBuilder {
    RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": city}}))
}

#[tokio::test]
async fn late_attempt_does_not_overwrite_a_newer_update() {
    let (app, proxy, key) = app_behind_proxy(Fault::Held.at(1)).await;
    let first = app.send(city("Ulm").key(&key)).await;
    assert_eq!((first.status, &first.json()["result"]), (200, &json!("created")), "{}", first.text);
    let second = app.send(city("Bonn").key(&key)).await;
    assert_eq!((second.status, &second.json()["result"]), (200, &json!("updated")), "{}", second.text);
    assert_eq!(proxy.apply_held().await.unwrap(), 1);
    let item = app.customer("shop", "c").await.unwrap();
    assert_eq!(item["city"].as_s().unwrap(), "Bonn");
    assert_eq!(item["updatedAt"].as_s().unwrap(), second.json()["updatedAt"].as_str().unwrap());
}

#[tokio::test]
async fn update_with_an_older_time_gets_the_next_millisecond() {
    let (app, proxy, key) = app_behind_proxy(Plan::none()).await;
    let ahead = Timestamp::from_millis(1_795_214_024_123);
    assert_eq!(app.send(city("Ulm").key(&key).at(ahead)).await.status, 200);
    let before = proxy.counts().of("UpdateItem");
    let zip = RequestBuilder::customer(json!({"customerId": "c", "customerData": {"zip": "89073"}}));
    let response = app.send(zip.key(&key).at(Timestamp::from_millis(1_795_214_024_000))).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["result"], "updated");
    assert_eq!(response.json()["updatedAt"], "2026-11-20T22:33:44.124Z");
    assert_eq!(proxy.counts().of("UpdateItem") - before, 2);
    let item = app.customer("shop", "c").await.unwrap();
    assert_eq!((item["city"].as_s().unwrap().as_str(), item["zip"].as_s().unwrap().as_str()), ("Ulm", "89073"));
    assert_eq!(item["createdAt"].as_s().unwrap(), "2026-11-20T22:33:44.123Z");
}

#[tokio::test]
async fn updates_of_the_same_millisecond_both_survive() {
    let (app, _proxy, key) = app_behind_proxy(Plan::none()).await;
    let now = Timestamp::from_millis(1_795_214_024_123);
    let zip = RequestBuilder::customer(json!({"customerId": "c", "customerData": {"zip": "89073"}}));
    let first = app.send(city("Ulm").key(&key).at(now)).await;
    let second = app.send(zip.key(&key).at(now)).await;
    assert_eq!((&first.json()["result"], &second.json()["result"]), (&json!("created"), &json!("updated")));
    let item = app.customer("shop", "c").await.unwrap();
    assert_eq!((item["city"].as_s().unwrap().as_str(), item["zip"].as_s().unwrap().as_str()), ("Ulm", "89073"));
}
