//! Everything of one customer or emitter, gone. Nothing is remembered of how far it came: what is gone is not found
//! again, so running it once more goes on with what is left.

use anyhow::Result;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use model::account::AccountId;
use serde::Serialize;

use super::show::find;
use crate::batch_delete::batch_delete;
use crate::confirm::confirm;
use crate::error::call_error;
use crate::item::{Item, key};
use crate::output::{Format, json, line, note};
use crate::progress;
use crate::rejected::RejectedSignals;
use crate::stack::{Stack, Table};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Erased<'a> {
    account_id: &'a str,
    id: &'a str,
    profiles: u64,
    signals: u64,
    rejected_signals: usize,
}

pub(super) async fn erase(stack: &Stack, account: &AccountId, id: &str, yes: bool, format: Format) -> Result<()> {
    note(&format!("Counting what is stored of {id:?} ..."));
    let rejected_signals = RejectedSignals::of(stack)?;
    let profiles = u64::from(find(stack, account, id).await?.is_some());
    let signals = count_signals(stack, account, id).await?;
    let rejected = rejected_signals.keys_of(account, id).await?;
    let erased = Erased { account_id: account.as_str(), id, profiles, signals, rejected_signals: rejected.len() };
    if profiles == 0 && signals == 0 && rejected.is_empty() {
        note(&format!("Nothing is stored of {id:?} in the account {account}."));
    } else {
        let counted = erased.in_words();
        confirm(&format!("Erase {id:?} of the account {account} for good: {counted}?"), yes)?;
        // The profile last: as long as it is there, so is the reason to run this again.
        rejected_signals.remove(&rejected).await?;
        delete_signals(stack, account, id, signals).await?;
        delete_profile(stack, account, id).await?;
    }
    match format {
        Format::Json => json(&erased),
        Format::Table => line(&format!("Erased: {}.", erased.in_words())),
    }
}

impl Erased<'_> {
    fn in_words(&self) -> String {
        format!(
            "{} profile(s), {} signal(s), {} rejected signal(s)",
            self.profiles, self.signals, self.rejected_signals
        )
    }
}

async fn count_signals(stack: &Stack, account: &AccountId, id: &str) -> Result<u64> {
    let table = stack.table(Table::Signals)?;
    let query = stack
        .client
        .query()
        .table_name(table)
        .key_condition_expression("pk = :pk")
        .expression_attribute_values(":pk", AttributeValue::S(account.key(id)))
        .consistent_read(true)
        .select(Select::Count);
    let mut pages = query.into_paginator().send();
    let mut count = 0_u64;
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| call_error(table, error))?;
        count = count.saturating_add(u64::try_from(page.count).unwrap_or_default());
    }
    Ok(count)
}

async fn delete_signals(stack: &Stack, account: &AccountId, id: &str, count: u64) -> Result<()> {
    let table = stack.table(Table::Signals)?;
    let query = stack
        .client
        .query()
        .table_name(table)
        .key_condition_expression("pk = :pk")
        .expression_attribute_values(":pk", AttributeValue::S(account.key(id)))
        .consistent_read(true)
        .projection_expression("pk, sk");
    let mut pages = query.into_paginator().send();
    let bar = progress::of(count, "signals erased");
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| call_error(table, error))?;
        let keys: Vec<Item> = page.items().iter().map(|item| key(item, &["pk", "sk"])).collect();
        batch_delete(&stack.client, table, &keys).await?;
        bar.inc(u64::try_from(keys.len()).unwrap_or_default());
    }
    bar.finish_and_clear();
    Ok(())
}

async fn delete_profile(stack: &Stack, account: &AccountId, id: &str) -> Result<()> {
    let table = stack.table(Table::Customers)?;
    let call = stack.client.delete_item().table_name(table).key("pk", AttributeValue::S(account.key(id)));
    call.send().await.map(|_| ()).map_err(|error| call_error(table, error))
}
