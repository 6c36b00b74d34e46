//! How often the functions read the key table, and what they do without it (docs/outages.md, The
//! key snapshot).

use std::time::Duration;

use futures_util::future::join_all;
use model::timestamp::Timestamp;
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_key_proxy};
use crate::support::requests::{assert_unavailable, customer, request_without_identifier};

/// Random keys that are sent unless `INTAKE_RANDOM_KEYS` says otherwise.
const RANDOM_KEYS: usize = 100;

/// Invalid keys that a function caches.
const MAX_INVALID_KEYS: usize = 8_192;

#[tokio::test]
async fn random_keys_are_read_once_each_and_evict_no_valid_key() {
    let count =
        std::env::var("INTAKE_RANDOM_KEYS").map_or(RANDOM_KEYS, |count| count.parse().unwrap());
    let AppBehindProxy {
        app,
        proxy,
        key: valid,
    } = app_behind_key_proxy().await;
    let now = Timestamp::now();
    let status = async |key: &str| {
        app.send(RequestBuilder::ping().key(key).received_at(now))
            .await
            .status
    };
    let reads = || proxy.counts().calls_of("GetItem");
    assert_eq!(status(&valid).await, 200);
    assert_eq!(reads(), 1);
    let keys: Vec<String> = (0..count)
        .map(|_| uuid::Uuid::new_v4().to_string())
        .collect();
    for key in &keys {
        assert_eq!(status(key).await, 401);
    }
    assert_eq!(reads(), 1 + count as u64);
    assert_eq!(
        status(&valid).await,
        200,
        "random keys do not evict a valid one"
    );
    assert_eq!(
        reads(),
        1 + count as u64,
        "random keys do not evict a valid one"
    );
    // Beyond the limit of the cache, the oldest key was evicted, so the function reads it again.
    let evicted = u64::from(count > MAX_INVALID_KEYS);
    assert_eq!(
        status(&keys[count - 1]).await,
        401,
        "the newest key is cached"
    );
    assert_eq!(reads(), 1 + count as u64, "the newest key is cached");
    assert_eq!(status(&keys[0]).await, 401, "{count} keys");
    assert_eq!(reads(), 1 + count as u64 + evicted, "{count} keys");
}

#[tokio::test]
async fn invalid_key_is_read_once_in_ten_seconds() {
    let AppBehindProxy { app, proxy, .. } = app_behind_key_proxy().await;
    let first = Timestamp::now();
    for n in 0..1_000 {
        let call = RequestBuilder::ping()
            .key("an-invalid-key")
            .received_at(first.plus(Duration::from_millis(n * 9)));
        assert_eq!(app.send(call).await.status, 401);
    }
    assert_eq!(proxy.counts().calls_of("GetItem"), 1);
    let later = RequestBuilder::ping()
        .key("an-invalid-key")
        .received_at(first.plus(Duration::from_secs(10)));
    assert_eq!(app.send(later).await.status, 401);
    assert_eq!(proxy.counts().calls_of("GetItem"), 2);
}

#[tokio::test]
async fn look_up_that_has_no_answer_in_its_200_is_a_503() {
    let faults = [Fault::EmptyBody, Fault::HtmlBody, Fault::CutBody];
    join_all(faults.map(async |fault| {
        let AppBehindProxy { app, proxy, key } = app_behind_key_proxy().await;
        proxy.set(fault.always().for_operation("GetItem"));
        for key in [&*key, "an-unknown-key"] {
            let ping = RequestBuilder::ping().key(key);
            let response = app.send(ping.time_left(Duration::from_secs(1))).await;
            assert_unavailable(&response);
        }
        assert!(
            proxy.counts().calls_of("GetItem") >= 8,
            "{fault:?}: each look-up is repeated"
        );
    }))
    .await;
}

/// The time of a request to a function whose key table has failed.
const SHORT_TIME: Duration = Duration::from_secs(1);

#[tokio::test]
async fn cached_key_is_valid_for_15_minutes_without_the_key_table() {
    let AppBehindProxy { app, proxy, key } = app_behind_key_proxy().await;
    let first = Timestamp::now();
    let at = |seconds| first.plus(Duration::from_secs(seconds));
    let ping = |seconds| RequestBuilder::ping().key(&key).received_at(at(seconds));
    let batch = |seconds| {
        request_without_identifier(1)
            .key(&key)
            .received_at(at(seconds))
    };
    // Each function has a cache of its own.
    assert_eq!(app.send(ping(0)).await.status, 200);
    assert_eq!(app.send(batch(0)).await.status, 200);
    proxy.set(Fault::ResetBefore.always());
    for seconds in [59, 60, 300, 899] {
        let response = app.send(ping(seconds)).await;
        assert_eq!(response.status, 200, "after {seconds} s");
    }
    let reads = proxy.counts().calls_of("GetItem");
    assert_eq!(app.send(ping(899)).await.status, 200);
    assert_eq!(
        proxy.counts().calls_of("GetItem"),
        reads,
        "the table is left alone for some seconds"
    );
    let update = customer().key(&key).received_at(at(899));
    assert_eq!(app.send(update).await.status, 200);
    assert_eq!(app.send(batch(899)).await.status, 200);
    assert_unavailable(&app.send(ping(900).time_left(SHORT_TIME)).await);
    proxy.set(Plan::none());
    assert_eq!(app.send(ping(901)).await.status, 200);
}

#[tokio::test]
async fn without_the_key_table_an_unknown_key_is_a_503_and_a_cached_invalid_key_a_401() {
    let AppBehindProxy { app, proxy, .. } = app_behind_key_proxy().await;
    let first = Timestamp::now();
    let ping = |key: &str, seconds| {
        RequestBuilder::ping()
            .key(key)
            .received_at(first.plus(Duration::from_secs(seconds)))
            .time_left(SHORT_TIME)
    };
    assert_eq!(app.send(ping("an-invalid-key", 0)).await.status, 401);
    for fault in [
        Fault::Throttled,
        Fault::InternalServerError,
        Fault::ResetBefore,
        Fault::ExpiredToken,
    ] {
        proxy.set(fault.always());
        assert_unavailable(&app.send(ping("an-unknown-key", 0)).await);
    }
    assert_eq!(app.send(ping("an-invalid-key", 9)).await.status, 401);
    assert_unavailable(&app.send(ping("an-invalid-key", 10)).await);
}

#[tokio::test]
async fn look_up_that_dynamodb_rejects_is_a_503() {
    let AppBehindProxy { app, proxy, key } = app_behind_key_proxy().await;
    let another_key = app.key("shop").await;
    let ping = RequestBuilder::ping().key(&another_key);
    assert_eq!(app.send(ping).await.status, 200);
    proxy.set(Fault::Invalid.always().for_operation("GetItem"));
    app.send(RequestBuilder::ping().key(&key))
        .await
        .assert_problem(503, "storage-unavailable");
}
