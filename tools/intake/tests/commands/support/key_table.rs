//! Changes of the key table that no command makes.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{TestApp, table_name};

use super::clock::hours_ago;

/// Revokes this account's key an hour ago, also when it is revoked already.
pub(crate) async fn revoke_an_hour_ago(app: &TestApp, account: &str) {
    let account = AttributeValue::S(account.to_owned());
    let key = app
        .items("ApiKeysTable")
        .await
        .into_iter()
        .find(|key| key["accountId"] == account)
        .unwrap();
    let revoked_at = hours_ago(1).to_string();
    let update = app
        .client
        .update_item()
        .table_name(table_name("ApiKeysTable"))
        .key("keyHash", key["keyHash"].clone())
        .update_expression("SET revokedAt = :time")
        .expression_attribute_values(":time", AttributeValue::S(revoked_at));
    update.send().await.unwrap();
}
