//! `customers show`: one profile, as it is stored.

use anyhow::{Result, bail};
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;

use super::INTERNAL;
use crate::item::{Item, Json, display, json_object};
use crate::output::{Format, Table, print_json};
use crate::stack::{CUSTOMERS, Stack};

pub(super) async fn show(stack: &Stack, account: &AccountId, id: &str, format: Format) -> Result<()> {
    let Some(item) = find(stack, account, id).await? else {
        bail!("The account {account} has no customer {id:?}.");
    };
    if format == Format::Json {
        return print_json(&json_object(&item, &INTERNAL));
    }
    let mut table = Table::with_names();
    for (name, Json(value)) in json_object(&item, &["pk", "accountId", "fence"]) {
        table.row([name, &display(value)]);
    }
    table.print()
}

/// The stored item of a customer.
pub(super) async fn find(stack: &Stack, account: &AccountId, id: &str) -> Result<Option<Item>> {
    stack.get(stack.table(CUSTOMERS)?, key(account, id)).await
}

/// The key of a customer's item.
pub(super) fn key(account: &AccountId, id: &str) -> Item {
    Item::from([("pk".to_owned(), AttributeValue::S(account.partition_key(id)))])
}
