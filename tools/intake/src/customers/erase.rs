//! `customers erase`: deletes everything that is stored of a customer or an emitter.
//!
//! It keeps no record of its progress: what is deleted is not found again, so a second run deletes what is left. It prints a
//! line for the operator's record of erasures, which a restore of a table makes necessary.

use anyhow::Result;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde_json::json;

use super::show::find;
use crate::batch_delete::batch_delete;
use crate::confirm::confirm;
use crate::error::call_error;
use crate::item::{Item, key};
use crate::output::{Format, note};
use crate::rejected::RejectedTable;
use crate::stack::{CUSTOMERS, SIGNALS, Stack};

pub(super) async fn erase(stack: &Stack, account: &AccountId, id: &str, yes: bool, format: Format) -> Result<()> {
    note(&format!("Counting what is stored of {id:?} ..."));
    let rejected_signals = RejectedTable::new(stack)?;
    let profiles = usize::from(find(stack, account, id).await?.is_some());
    let signals = count_signals(stack, account, id).await?;
    let rejected = rejected_signals.keys_of(account, id).await?;
    let counts = format!("{profiles} profile(s), {signals} signal(s), {} rejected signal(s)", rejected.len());
    if profiles == 0 && signals == 0 && rejected.is_empty() {
        note(&format!("Nothing is stored of {id:?} in the account {account}."));
    } else {
        confirm(&format!("Erase {counts} of {id:?} in the account {account}? This cannot be undone."), yes)?;
        // The profile last: while it is there, an operator sees that the erasure is incomplete.
        rejected_signals.delete(&rejected).await?;
        delete_signals(stack, account, id).await?;
        delete_profile(stack, account, id).await?;
    }
    let erased_at = Timestamp::now();
    let json = json!({
        "erasedAt": erased_at, "accountId": account, "id": id, "profiles": profiles, "signals": signals,
        "rejectedSignals": rejected.len(),
    });
    format.print(&format!("Erased {id:?} in the account {account} at {erased_at}: {counts}."), &json)
}

async fn count_signals(stack: &Stack, account: &AccountId, id: &str) -> Result<usize> {
    let table = stack.table(SIGNALS)?;
    let pages = stack.query(table, account.partition_key(id)).select(Select::Count).into_paginator().send();
    let pages: Vec<_> = pages.try_collect().await.map_err(|error| call_error(table, error))?;
    Ok(pages.iter().map(|page| usize::try_from(page.count).unwrap_or_default()).sum())
}

async fn delete_signals(stack: &Stack, account: &AccountId, id: &str) -> Result<()> {
    let table = stack.table(SIGNALS)?;
    let mut pages =
        stack.query(table, account.partition_key(id)).projection_expression("pk, sk").into_paginator().send();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| call_error(table, error))?;
        let keys: Vec<Item> = page.items().iter().map(|item| key(item, &["pk", "sk"])).collect();
        batch_delete(&stack.client, table, &keys).await?;
    }
    Ok(())
}

async fn delete_profile(stack: &Stack, account: &AccountId, id: &str) -> Result<()> {
    let table = stack.table(CUSTOMERS)?;
    let call = stack.client.delete_item().table_name(table).key("pk", AttributeValue::S(account.partition_key(id)));
    call.send().await.map(drop).map_err(|error| call_error(table, error))
}
