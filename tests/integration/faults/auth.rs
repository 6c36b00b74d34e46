//! The key table under fire (SPEC 2.7): counted where its calls arrive.

use std::time::Duration;

use model::timestamp::Timestamp;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{RequestBuilder, TestApp};

use super::assert_unavailable;

/// As many as the longest run has is a matter of `INTAKE_RANDOM_KEYS`.
const RANDOM_KEYS: usize = 2_000;

async fn behind_keys() -> (TestApp, FaultProxy, String) {
    let emulator = TestApp::emulator();
    let direct = emulator.endpoint();
    let proxy = FaultProxy::start(&direct, Plan::none()).await;
    let stack = TestApp::over(emulator, &proxy.endpoint(), &direct, None);
    let key = stack.key("shop").await;
    (stack, proxy, key)
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages.saturating_mul(4096)
}

#[tokio::test]
async fn random_keys_are_read_once_each_in_bounded_memory() {
    let keys = std::env::var("INTAKE_RANDOM_KEYS").map_or(RANDOM_KEYS, |keys| keys.parse().unwrap());
    let (stack, proxy, right) = behind_keys().await;
    assert_eq!(stack.send(RequestBuilder::ping().key(&right)).await.status, 200);
    let (reads_before, bytes_before) = (proxy.counts().of("GetItem"), resident_bytes());
    let now = Timestamp::now();
    for n in 0..keys {
        let answer = stack.send(RequestBuilder::ping().key(&format!("{n}-{}", uuid::Uuid::new_v4())).at(now)).await;
        assert_eq!(answer.status, 401);
    }
    assert_eq!(proxy.counts().of("GetItem"), reads_before + keys as u64);
    assert_eq!(stack.send(RequestBuilder::ping().key(&right).at(now)).await.status, 200);
    assert_eq!(proxy.counts().of("GetItem"), reads_before + keys as u64, "the right key was not pushed out");
    if keys >= 100_000 {
        // Other tests of this process would count here too: only the long run, which is alone, says something.
        let grown = resident_bytes().saturating_sub(bytes_before);
        println!("{keys} random keys: {grown} bytes more resident");
        assert!(grown < 32 * 1024 * 1024, "{grown} bytes more");
    }
}

#[tokio::test]
async fn invalid_key_is_read_once_in_ten_seconds() {
    let (stack, proxy, _) = behind_keys().await;
    let first = Timestamp::now();
    for n in 0..1_000 {
        let call = RequestBuilder::ping().key("a-wrong-key").at(first.plus(Duration::from_millis(n * 9)));
        assert_eq!(stack.send(call).await.status, 401);
    }
    assert_eq!(proxy.counts().of("GetItem"), 1);
    let later = RequestBuilder::ping().key("a-wrong-key").at(first.plus(Duration::from_secs(10)));
    assert_eq!(stack.send(later).await.status, 401);
    assert_eq!(proxy.counts().of("GetItem"), 2);
}

#[tokio::test]
async fn cached_key_is_valid_for_15_minutes_without_the_key_table() {
    let (stack, proxy, key) = behind_keys().await;
    let first = Timestamp::now();
    let ping = |seconds| RequestBuilder::ping().key(&key).at(first.plus(Duration::from_secs(seconds)));
    assert_eq!(stack.send(ping(0)).await.status, 200);
    for fault in [Fault::Throttled, Fault::InternalServerError, Fault::ResetBefore, Fault::ExpiredToken] {
        proxy.set(fault.always());
        assert_unavailable(&stack.send(RequestBuilder::ping().key("an-unknown-key")).await);
    }
    for seconds in [59, 60, 300, 899] {
        assert_eq!(stack.send(ping(seconds)).await.status, 200, "after {seconds} s");
    }
    assert_unavailable(&stack.send(ping(900)).await);
    proxy.set(Plan::none());
    assert_eq!(stack.send(ping(901)).await.status, 200);
}

#[tokio::test]
async fn revoked_key_is_rejected_after_a_minute() {
    let (stack, _proxy, _) = behind_keys().await;
    let first = Timestamp::from_millis(1_795_214_024_000);
    let expires = first.plus(Duration::from_secs(30));
    let key = stack.key_with("shop", |record| record.expires_at = Some(expires)).await;
    let at = |moment| RequestBuilder::ping().key(&key).at(moment);
    assert_eq!(stack.send(at(first)).await.status, 200);
    assert_eq!(stack.send(at(first.plus(Duration::from_millis(29_999)))).await.status, 200);
    stack.send(at(expires)).await.assert_problem(401, "unauthorized");

    let key = stack.key("shop").await;
    let at = |seconds| RequestBuilder::ping().key(&key).at(first.plus(Duration::from_secs(seconds)));
    assert_eq!(stack.send(at(0)).await.status, 200);
    revoke(&stack, &key, first).await;
    assert_eq!(stack.send(at(59)).await.status, 200, "a yes holds for a minute");
    stack.send(at(60)).await.assert_problem(401, "unauthorized");
}

async fn revoke(stack: &TestApp, key: &str, at: Timestamp) {
    use aws_sdk_dynamodb::types::AttributeValue;
    let hash = model::api_key::KeyHash::of(key).to_hex();
    let update = stack
        .client
        .update_item()
        .table_name(testkit::Tables::name("ApiKeysTable"))
        .key("keyHash", AttributeValue::S(hash))
        .update_expression("SET revokedAt = :at")
        .expression_attribute_values(":at", AttributeValue::S(at.to_string()));
    update.send().await.unwrap();
}
