//! `customers show` and `customers find`: profiles, as they are stored.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::customer::is_fence;
use store::customers::times_of_fields;

use super::Target;
use crate::error::store_error;
use crate::item::{Item, Json, display, json_object, partition_key, text};
use crate::output::{Format, Table, note, print_json};
use crate::scan::scan;
use crate::stack::{CUSTOMERS, Stack};

pub(super) async fn show(stack: &Stack, target: &Target, times: bool, format: Format) -> Result<()> {
    let Target { account, id } = target;
    let Some(item) = stored(stack, account, id).await? else {
        bail!("The account {account} has no customer {id:?}.");
    };
    let mut table = Table::with_names();
    if times {
        let table_name = stack.table(CUSTOMERS)?;
        let times = times_of_fields(&item).map_err(|error| store_error(table_name, &error))?;
        for (field, time) in &times {
            table.row([field, &time.to_string()]);
        }
        return if format == Format::Json { print_json(&times) } else { table.print() };
    }
    let profile = profile_json(&item);
    if format == Format::Json {
        return print_json(&profile);
    }
    for (name, Json(value)) in profile.into_iter().filter(|(name, _)| *name != "accountId") {
        table.row([name, &display(value)]);
    }
    table.print()
}

/// The attributes of a customer, but for those that only the table needs.
pub(super) fn profile_json(item: &Item) -> BTreeMap<&str, Json<'_>> {
    json_object(item, &["pk"]).into_iter().filter(|(name, _)| !is_fence(name)).collect()
}

/// The stored item of a customer.
pub(super) async fn stored(stack: &Stack, account: &AccountId, id: &str) -> Result<Option<Item>> {
    stack.get(stack.table(CUSTOMERS)?, partition_key(account.partition_key(id))).await
}

/// The customers with an email address. No index has it, so this reads the whole table.
pub(super) async fn find(stack: &Stack, account: &AccountId, email: &str, format: Format) -> Result<()> {
    let mut customers: Vec<Item> = Vec::new();
    scan(
        stack,
        stack.table(CUSTOMERS)?,
        // Not a consistent read, which costs twice as much.
        |scan| {
            scan.filter_expression("accountId = :account AND email = :email")
                .expression_attribute_values(":account", AttributeValue::S(account.to_string()))
                .expression_attribute_values(":email", AttributeValue::S(email.to_owned()))
        },
        async |page| {
            customers.extend(page.items.unwrap_or_default());
            Ok(())
        },
    )
    .await?;
    customers.sort_by(|one, other| text(one, "customerId").cmp(&text(other, "customerId")));
    if customers.is_empty() {
        note(&format!("No customer of the account {account} has this email address."));
        return Ok(());
    }
    let mut table = Table::new(format, ["CUSTOMER ID", "FIRST NAME", "LAST NAME", "UPDATED"]);
    for customer in &customers {
        let names = ["customerId", "firstName", "lastName", "updatedAt"];
        table.add(&profile_json(customer), names.map(|name| text(customer, name).unwrap_or_default()))?;
    }
    table.print()
}
