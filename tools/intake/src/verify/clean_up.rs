//! Removes what the command stored: by its keys, since a scan of a large table would take long and cost money.

use std::collections::BTreeSet;

use anyhow::Result;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;

use super::run::Run;
use super::stored::{partitions, rejected_partitions, subjects};
use crate::batch_delete::batch_delete;
use crate::item::{Item, key, partition_key};
use crate::keys::TemporaryKeys;
use crate::stack::{CUSTOMERS, IDEMPOTENCY, REJECTED_SIGNALS, SIGNALS, Stack};

/// What was removed, and what was not.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Cleanup {
    pub(super) removed: Vec<String>,
    pub(super) left: Vec<String>,
}

impl Cleanup {
    fn note(&mut self, what: &str, outcome: Result<usize>) {
        match outcome {
            Ok(count) => self.removed.push(format!("{count} {what}")),
            Err(error) => self.left.push(format!("{what}: {error:#}")),
        }
    }
}

/// Removes the keys first, so that nothing is added.
pub(super) async fn clean_up(
    stack: &Stack,
    keys: &TemporaryKeys<'_>,
    account: &AccountId,
    run: Option<&Run<'_>>,
    since: Timestamp,
) -> Cleanup {
    let mut cleanup = Cleanup::default();
    cleanup.note("API keys", keys.delete().await);
    cleanup.note("signals", delete(stack, SIGNALS, &["pk", "sk"], subjects(account)).await);
    let rejected = rejected_partitions(account, since);
    cleanup.note("rejected signals", delete(stack, REJECTED_SIGNALS, &["pk", "sk"], rejected).await);
    cleanup.note("customers", delete(stack, CUSTOMERS, &["pk"], subjects(account)).await);
    // DynamoDB refuses a batch with a key twice.
    let identifiers: BTreeSet<String> = run.into_iter().flat_map(Run::identifiers).collect();
    let records = identifiers.iter().map(|identifier| partition_key(account.partition_key(identifier))).collect();
    cleanup.note("idempotency records", delete_items(stack, IDEMPOTENCY, records).await);
    let deferred = run.map_or(0, |run| run.seen.borrow().deferred);
    if deferred > 0 {
        cleanup.left.push(format!("those of {deferred} deferred signals that the overflow function stores after this"));
    }
    if !cleanup.left.is_empty() {
        cleanup.left.push(format!("to remove the rest: `cargo intake accounts erase {account}`"));
    }
    cleanup
}

async fn delete(stack: &Stack, variable: &str, names: &[&str], of: Vec<String>) -> Result<usize> {
    let items = partitions(stack, variable, of).await?;
    let keys: Vec<Item> = items.iter().flatten().map(|item| key(item, names)).collect();
    delete_items(stack, variable, keys).await
}

async fn delete_items(stack: &Stack, variable: &str, keys: Vec<Item>) -> Result<usize> {
    batch_delete(&stack.client, stack.table(variable)?, &keys).await?;
    Ok(keys.len())
}
