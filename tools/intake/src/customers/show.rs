//! One profile, as it is stored.

use anyhow::{Result, bail};
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::customer::DOCUMENTED;

use crate::error::call_error;
use crate::item::{Item, Members, display};
use crate::output::{self, Format, json};
use crate::stack::{Stack, Table};

pub(super) async fn show(stack: &Stack, account: &AccountId, id: &str, format: Format) -> Result<()> {
    let Some(item) = find(stack, account, id).await? else {
        bail!("The account {account} has no customer {id:?}.");
    };
    if format.is_json() {
        return json(&Members::of(&item, &["pk"]));
    }
    let mut table = output::Table::of_members();
    let mut undocumented: Vec<&str> = item.keys().map(String::as_str).filter(|name| !is_placed(name)).collect();
    undocumented.sort_unstable();
    let names = ["customerId"].into_iter().chain(DOCUMENTED).chain(undocumented).chain(["createdAt", "updatedAt"]);
    for name in names {
        if let Some(value) = item.get(name) {
            table.row([name, &display(value)]);
        }
    }
    table.print()
}

/// Whether a member has a place of its own in the table, or none.
fn is_placed(name: &str) -> bool {
    DOCUMENTED.contains(&name) || matches!(name, "pk" | "accountId" | "customerId" | "createdAt" | "updatedAt")
}

/// The stored item of a customer.
pub(super) async fn find(stack: &Stack, account: &AccountId, id: &str) -> Result<Option<Item>> {
    let table = stack.table(Table::Customers)?;
    let get =
        stack.client.get_item().table_name(table).key("pk", AttributeValue::S(account.key(id))).consistent_read(true);
    Ok(get.send().await.map_err(|error| call_error(table, error))?.item)
}
