//! `customers show` and `customers find`: the profiles of customers. Must not know how signals are
//! stored.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::customer::is_fence;
use store::attributes::Item;
use store::customers::times_of_fields;

use super::Target;
use crate::error::store_error;
use crate::items::{Json, display, get_item, json_object, key_of_partition, scan_table, text};
use crate::output::{Format, PrintedTable, note, print_json};
use crate::stack::Stack;
use crate::stack::variable_names::CUSTOMERS_TABLE;

pub(super) async fn show(
    stack: &Stack,
    target: &Target,
    times: bool,
    format: Format,
) -> Result<()> {
    let Target { account, id } = target;
    let Some(item) = find_profile(stack, account, id).await? else {
        bail!("The account {account} has no customer {id:?}.");
    };
    if times {
        print_times(stack, &item, format)
    } else {
        print_profile(&item, format)
    }
}

fn print_profile(item: &Item, format: Format) -> Result<()> {
    let profile = profile_json(item);
    if format == Format::Json {
        return print_json(&profile);
    }
    let mut table = PrintedTable::without_heading();
    for (name, Json(value)) in profile {
        if name != "accountId" {
            table.add_row([name, &display(value)]);
        }
    }
    table.print()
}

/// Prints when each field of a customer was last changed.
fn print_times(stack: &Stack, item: &Item, format: Format) -> Result<()> {
    let customers = stack.table_name(CUSTOMERS_TABLE)?;
    let times = times_of_fields(item).map_err(|error| store_error(customers, &error))?;
    if format == Format::Json {
        return print_json(&times);
    }
    let mut table = PrintedTable::without_heading();
    for (field, time) in &times {
        table.add_row([field, &time.to_string()]);
    }
    table.print()
}

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
    id: &str,
) -> Result<Option<Item>> {
    let table_name = stack.table_name(CUSTOMERS_TABLE)?;
    let key = key_of_partition(account.partition_key(id));
    get_item(stack, table_name, key).await
}

pub(super) async fn find(
    stack: &Stack,
    account: &AccountId,
    email: &str,
    format: Format,
) -> Result<()> {
    let mut customers = customers_with_email(stack, account, email).await?;
    if customers.is_empty() {
        note(&format!(
            "No customer of the account {account} has this email address."
        ));
        return Ok(());
    }
    customers.sort_by(|one, other| text(one, "customerId").cmp(&text(other, "customerId")));
    let heading = ["CUSTOMER ID", "FIRST NAME", "LAST NAME", "UPDATED"];
    let mut table = PrintedTable::new(format, heading);
    for customer in &customers {
        let attributes = ["customerId", "firstName", "lastName", "updatedAt"];
        let cells = attributes.map(|name| text(customer, name).unwrap_or_default());
        table.add(&profile_json(customer), cells)?;
    }
    table.print()
}

/// Reads the whole table: no index has the email addresses.
async fn customers_with_email(
    stack: &Stack,
    account: &AccountId,
    email: &str,
) -> Result<Vec<Item>> {
    // The read is not a consistent one, which costs twice as much.
    let with_email = |scan: ScanFluentBuilder| {
        scan.filter_expression("accountId = :account AND email = :email")
            .expression_attribute_values(":account", AttributeValue::S(account.to_string()))
            .expression_attribute_values(":email", AttributeValue::S(email.to_owned()))
    };
    let mut customers: Vec<Item> = Vec::new();
    scan_table(
        stack,
        stack.table_name(CUSTOMERS_TABLE)?,
        with_email,
        async |page| {
            customers.extend(page.items.unwrap_or_default());
            Ok(())
        },
    )
    .await?;
    Ok(customers)
}
