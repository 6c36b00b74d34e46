//! `customers`: finds, shows, exports or erases what is stored of a customer.

mod erase;
mod export;
mod find;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::customer::attributes::is_fence;
use operator::error::store_error;
use operator::items::{Json, display, get_item, json_object, key_of_partition};
use store::attributes::Item;
use store::customers::times_of_fields;

use self::erase::EraseCustomer;
use self::export::ExportCustomer;
use self::find::FindCustomers;
use crate::output::{Format, PrintedTable, note, print_json};
use crate::stack::Stack;
use crate::stack::variables::CUSTOMERS_TABLE;
use crate::subject_id::subject_id;

#[derive(Debug, Subcommand)]
pub(crate) enum CustomersCommand {
    /// Show the profile of a customer
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod customers show --account shop customer-17\n  \
        cargo intake --stack intake-prod customers show --account shop customer-17 --times"
    )]
    Show(ShowCustomer),

    /// Find the customers with an email address, in upper or lower case; this reads the whole table
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod customers find --account shop --email ada@example.com\n\n\
        Case, Unicode form and the white space around an address make no difference. The column MATCH says which addresses are \
        exactly the given one."
    )]
    Find(FindCustomers),

    /// Export everything that is stored of a customer or an emitter as one JSON document, such as
    /// for an access request
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod customers export --account shop customer-17 > customer-17.json"
    )]
    Export(ExportCustomer),

    /// Erase everything that is stored of a customer or an emitter: the profile, the signals, the
    /// rejected signals
    Erase(EraseCustomer),
}

#[derive(Args, Debug)]
pub(crate) struct Target {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The customerId (or the emitterId, to export or erase), as the client sent it
    #[arg(value_name = "ID", allow_hyphen_values = true, value_parser = subject_id)]
    subject_id: String,
}

impl CustomersCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Show(show) => show.run(stack, format).await,
            Self::Find(find) => find.run(stack, format).await,
            Self::Export(export) => export.run(stack, format).await,
            Self::Erase(erase) => erase.run(stack, format).await,
        }
    }
}

/// The stored item of a customer.
async fn find_profile(stack: &Stack, target: &Target) -> Result<Option<Item>> {
    let key = target.account.partition_key(&target.subject_id);
    let table_name = stack.table_name(CUSTOMERS_TABLE)?;
    get_item(&stack.dynamodb, table_name, key_of_partition(key), note).await
}

/// The attributes of a customer, without those that only the table needs.
fn profile_json(item: &Item) -> BTreeMap<&str, Json<'_>> {
    let mut profile = json_object(item, &["pk"]);
    profile.retain(|name, _| !is_fence(name));
    profile
}

#[derive(Args, Debug)]
pub(crate) struct ShowCustomer {
    #[command(flatten)]
    target: Target,

    /// Print when each field was last changed instead, also fields that were removed
    #[arg(long)]
    times: bool,
}

impl ShowCustomer {
    async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Some(item) = find_profile(stack, &self.target).await? else {
            let Target {
                account,
                subject_id,
            } = &self.target;
            bail!("The account {account} has no customer {subject_id:?}.");
        };
        if self.times {
            print_times(stack, &item, format)
        } else {
            print_profile(&item, format)
        }
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
