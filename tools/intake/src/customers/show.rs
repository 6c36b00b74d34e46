//! `customers show`: the profile of a customer, or when its fields were changed. Must not know how a
//! profile is found.

use anyhow::{Result, bail};
use store::attributes::Item;
use store::customers::times_of_fields;

use super::Target;
use super::profile::{find_profile, profile_json};
use crate::output::{Format, PrintedTable, print_json};
use crate::stack::Stack;
use crate::stack::variable_names::CUSTOMERS_TABLE;
use operator::error::store_error;
use operator::items::{Json, display};

pub(super) async fn show(
    stack: &Stack,
    target: &Target,
    times: bool,
    format: Format,
) -> Result<()> {
    let Target {
        account,
        subject_id,
    } = target;
    let Some(item) = find_profile(stack, account, subject_id).await? else {
        bail!("The account {account} has no customer {subject_id:?}.");
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
    let mut rows = PrintedTable::without_heading();
    for (name, Json(value)) in profile {
        if name != "accountId" {
            rows.add_row([name, &display(value)]);
        }
    }
    rows.print()
}

/// Prints when each field of a customer was last changed.
fn print_times(stack: &Stack, item: &Item, format: Format) -> Result<()> {
    let table_name = stack.table_name(CUSTOMERS_TABLE)?;
    let times = times_of_fields(item).map_err(|error| store_error(table_name, &error))?;
    if format == Format::Json {
        return print_json(&times);
    }
    let mut rows = PrintedTable::without_heading();
    for (field, time) in &times {
        rows.add_row([field, &time.to_string()]);
    }
    rows.print()
}
