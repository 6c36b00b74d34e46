//! The sort keys of the items that DynamoDB left unprocessed in a `BatchWriteItem`.
//!
//! DynamoDB returns unprocessed items whole, and values of them would be 190 MB for a body of 4 MiB. Only the keys are parsed;
//! the store writes the items again from their text.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::attributes::StringAttribute;
use crate::error::{Cause, StoreError};

/// The sort keys of the items that DynamoDB left unprocessed, by its `response`.
pub(super) fn sort_keys(response: &[u8]) -> Result<Vec<String>, StoreError> {
    let response: Response = serde_json::from_slice(response).map_err(|_| Cause::ResponseError)?;
    let requests = response.unprocessed_items.into_values().flatten();
    Ok(requests.map(|request| request.put_request.item.sk.value).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Response {
    #[serde(default)]
    unprocessed_items: BTreeMap<String, Vec<WriteRequest>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WriteRequest {
    put_request: PutRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutRequest {
    item: Key,
}

#[derive(Deserialize)]
struct Key {
    sk: StringAttribute<String>,
}
