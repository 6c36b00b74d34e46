//! `customers show`: one profile, as it is stored.

use anyhow::{Result, bail};
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::customer::PROFILE_FIELDS;

use crate::error::call_error;
use crate::item::{Item, display, json_object};
use crate::output::{Format, Table, print_json};
use crate::stack::{CUSTOMERS, Stack};

pub(super) async fn show(stack: &Stack, account: &AccountId, id: &str, format: Format) -> Result<()> {
    let Some(item) = find(stack, account, id).await? else {
        bail!("The account {account} has no customer {id:?}.");
    };
    if format == Format::Json {
        return print_json(&json_object(&item, &["pk", "fence"]));
    }
    // The fields of the contract in its order, between them and the two times the others by name.
    let first = || ["customerId"].into_iter().chain(PROFILE_FIELDS);
    let last = ["createdAt", "updatedAt"];
    let is_other = |name: &&str| !first().chain(last).chain(["pk", "accountId", "fence"]).any(|known| known == *name);
    let mut others: Vec<&str> = item.keys().map(String::as_str).filter(is_other).collect();
    others.sort_unstable();
    let mut table = Table::with_names();
    for name in first().chain(others).chain(last) {
        if let Some(value) = item.get(name) {
            table.row([name, &display(value)]);
        }
    }
    table.print()
}

/// The stored item of a customer.
pub(super) async fn find(stack: &Stack, account: &AccountId, id: &str) -> Result<Option<Item>> {
    let table = stack.table(CUSTOMERS)?;
    let get = stack
        .client
        .get_item()
        .table_name(table)
        .key("pk", AttributeValue::S(account.partition_key(id)))
        .consistent_read(true);
    Ok(get.send().await.map_err(|error| call_error(table, error))?.item)
}
