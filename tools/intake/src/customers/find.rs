//! `customers find`: the customers with an email address. Must not know how signals are stored.

use anyhow::Result;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use store::attributes::Item;

use super::profile::profile_json;
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;
use crate::stack::variable_names::CUSTOMERS_TABLE;
use operator::items::{scan_table, text};

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
    let mut rows = PrintedTable::new(format, heading);
    for customer in &customers {
        let attributes = ["customerId", "firstName", "lastName", "updatedAt"];
        let cells = attributes.map(|name| text(customer, name).unwrap_or_default());
        rows.add(&profile_json(customer), cells)?;
    }
    rows.print()
}

/// Reads the whole table: no index has the email addresses.
async fn customers_with_email(
    stack: &Stack,
    account: &AccountId,
    email: &str,
) -> Result<Vec<Item>> {
    // A consistent scan would cost twice as much.
    let select = |call: ScanFluentBuilder| {
        call.filter_expression("accountId = :account AND email = :email")
            .expression_attribute_values(":account", AttributeValue::S(account.to_string()))
            .expression_attribute_values(":email", AttributeValue::S(email.to_owned()))
    };
    let mut customers: Vec<Item> = Vec::new();
    scan_table(
        &stack.dynamodb,
        stack.table_name(CUSTOMERS_TABLE)?,
        note,
        select,
        async |page| {
            customers.extend(page.items.unwrap_or_default());
            Ok(())
        },
    )
    .await?;
    Ok(customers)
}
