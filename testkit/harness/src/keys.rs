//! API keys in the key table of a test, and in its key snapshot.

use aws_sdk_dynamodb::types::AttributeValue;
use model::api_key::ApiKey;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::api_keys::PARTITION_KEY;
use store::attributes::to_item;

use crate::clients::client_at;
use crate::fake_s3::{FakeS3, publish};
use crate::tables::table_name;

/// Stores a new key for each of these accounts, in the key table at `endpoint` and in a key snapshot
/// in `s3`. Returns the keys in the order of their accounts.
pub async fn create_keys_with_snapshot(
    endpoint: &str,
    s3: &FakeS3,
    accounts: &[String],
) -> Vec<String> {
    let mut keys = Vec::new();
    let mut snapshot = Vec::new();
    for account in accounts {
        let key = ApiKey::random().unwrap();
        let entry = key_entry(account);
        store_key(endpoint, &key, &entry).await;
        snapshot.push((key.hash(), entry));
        keys.push(key.expose_secret().to_owned());
    }
    publish(s3, &snapshot, Timestamp::now());
    keys
}

/// The entry of a key of this account that is valid for all endpoints.
pub fn key_entry(account: &str) -> KeyEntry {
    KeyEntry {
        key_id: format!("key_of_{account}"),
        account_id: account.parse().unwrap(),
        name: "test".to_owned(),
        created_at: Timestamp::now(),
        expires_at: None,
        revoked_at: None,
        only: None,
    }
}

/// Stores this key.
pub async fn store_key(endpoint: &str, key: &ApiKey, entry: &KeyEntry) {
    let partition_key = AttributeValue::S(key.hash().partition_key());
    let mut item = to_item(entry).unwrap();
    item.insert(PARTITION_KEY.to_owned(), partition_key);
    let put = client_at(endpoint)
        .put_item()
        .table_name(table_name("ApiKeysTable"))
        .set_item(Some(item));
    put.send().await.unwrap();
}
