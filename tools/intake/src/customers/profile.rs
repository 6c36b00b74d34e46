//! The stored profile of a customer. Must not know why it is read.

use std::collections::BTreeMap;

use anyhow::Result;
use model::account::AccountId;
use model::customer::is_fence;
use store::attributes::Item;

use crate::stack::Stack;
use crate::stack::variable_names::CUSTOMERS_TABLE;
use operator::items::{Json, get_item, json_object, key_of_partition};

/// The attributes of a customer, without those that only the table needs.
pub(super) fn profile_json(item: &Item) -> BTreeMap<&str, Json<'_>> {
    let mut profile = json_object(item, &["pk"]);
    profile.retain(|name, _| !is_fence(name));
    profile
}

/// The stored item of a customer.
pub(super) async fn find_profile(
    stack: &Stack,
    account: &AccountId,
    subject_id: &str,
) -> Result<Option<Item>> {
    let table_name = stack.table_name(CUSTOMERS_TABLE)?;
    let key = key_of_partition(account.partition_key(subject_id));
    get_item(&stack.dynamodb, table_name, key).await
}
