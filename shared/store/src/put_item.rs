//! `PutItem` on a condition ("`PutItem`" in the DynamoDB API reference).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_dynamo::{AttributeValue, Item};

use crate::client::Client;
use crate::error::StoreError;
use crate::service_error::ServiceError;

/// A request.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PutItem<'a> {
    pub(crate) table_name: &'a str,
    pub(crate) item: &'a Item,
    pub(crate) condition_expression: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) expression_attribute_values: BTreeMap<&'static str, AttributeValue>,
    pub(crate) return_values_on_condition_check_failure: ReturnValues,
}

/// What a response contains.
#[derive(Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ReturnValues {
    None,
    AllOld,
}

/// The result.
pub(crate) enum Put {
    /// The item is written.
    Written,
    /// It is not, because its condition is not met by this item, if the response contains it.
    ConditionFailed(Option<Item>),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Existing {
    item: Option<Item>,
}

impl PutItem<'_> {
    /// Sends the request.
    pub(crate) async fn send(&self, client: &Client) -> Result<Put, StoreError> {
        let body = serde_json::to_vec(self).map_err(|_| StoreError::Invalid)?;
        let Err(error) = client.send("PutItem", body).await else { return Ok(Put::Written) };
        match error.as_service_error().and_then(ServiceError::condition_failed) {
            Some(existing) => existing.map(|Existing { item }| Put::ConditionFailed(item)),
            None => Err(error.into()),
        }
    }
}
