//! `signals erase`: deletes the signals of one type that an account sent in one period, for a
//! client that sent what it must not.
//!
//! The table has no index by type, so the command reads all of it: once to count, once to delete.

use std::time::Instant;

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde_json::json;
use store::attributes::Item;
use store::retry::MAX_REQUEST_DURATION;

use crate::confirm::confirm_by_name;
use crate::erasure::{ErasureArgs, refuse_while_queued, until_erased, wait_for_functions};
use crate::output::{Format, note};
use operator::NOTE_INTERVAL;
use operator::items::{batch_delete, item_key, partition_prefix, scan_table};

use crate::stack::Stack;
use crate::stack::variable_names::SIGNALS_TABLE;
use crate::time_args::time_or_age;

#[derive(Args, Debug)]
pub(crate) struct EraseSignals {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The eventType or the stepNodeId, as the client sent it
    #[arg(long = "type", value_name = "TYPE", allow_hyphen_values = true)]
    signal_type: String,

    /// Only signals received at or after this time, such as 7d (ago) or 2026-11-20T22:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    since: Timestamp,

    /// Only signals received before this time, which is not in the future
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    until: Timestamp,

    /// Only count them
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    erasure: ErasureArgs,
}

/// How many signals were found or deleted.
struct SignalErasureCounts {
    signals: usize,
    rejected_signals: usize,
}

impl EraseSignals {
    pub(crate) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let now = Timestamp::now();
        ensure!(self.since < self.until, "--since must be before --until.");
        ensure!(
            self.until <= now,
            "--until must not be in the future: what arrives after the erasure would stay."
        );
        // A deferred signal has the time of its first arrival, so what waits belongs to the period.
        refuse_while_queued(stack, self.erasure.anyway || self.dry_run).await?;
        let left = self.until.plus(MAX_REQUEST_DURATION).duration_since(now);
        let reason =
            "a request that a function received before --until may store something until then.";
        wait_for_functions(left, reason).await;
        let target = self.target();
        note(&format!("Counting {target} ..."));
        let found = self.count(stack).await?;
        let SignalErasureCounts {
            signals,
            rejected_signals,
        } = found;
        if self.dry_run {
            return self.print(&found, format);
        }
        if signals + rejected_signals > 0 {
            let question = format!(
                "Erase {signals} signal(s) and {rejected_signals} rejected signal(s): {target}? This cannot be undone."
            );
            confirm_by_name(&question, &self.signal_type, self.erasure.yes)?;
        }
        let erased = until_erased(self.delete(stack, signals)).await?;
        self.print(&erased, format)
    }

    /// What the command is about, in words.
    fn target(&self) -> String {
        let Self {
            account,
            signal_type,
            since,
            until,
            ..
        } = self;
        format!(
            "what the account {account} sent of the type {signal_type:?}, from {since} and before {until}"
        )
    }

    async fn count(&self, stack: &Stack) -> Result<SignalErasureCounts> {
        let mut signals = 0;
        self.scan_signals(stack, async |page| {
            signals += page.items().len();
            Ok(())
        })
        .await?;
        let rejected_keys = self.find_rejected_keys(stack).await?;
        Ok(SignalErasureCounts {
            signals,
            rejected_signals: rejected_keys.len(),
        })
    }

    /// Deletes the signals. `expected` is how many were counted before.
    async fn delete(&self, stack: &Stack, expected: usize) -> Result<SignalErasureCounts> {
        let rejected_keys = self.find_rejected_keys(stack).await?;
        stack.rejected_table()?.delete(&rejected_keys).await?;
        let table_name = stack.table_name(SIGNALS_TABLE)?;
        let mut signals = 0;
        let mut noted_at = Instant::now();
        self.scan_signals(stack, async |page| {
            let item_keys: Vec<Item> = page
                .items()
                .iter()
                .map(|item| item_key(item, &["pk", "sk"]))
                .collect();
            batch_delete(&stack.dynamodb, table_name, &item_keys).await?;
            signals += item_keys.len();
            if noted_at.elapsed() >= NOTE_INTERVAL {
                note(&format!("{signals} of {expected} signals erased."));
                noted_at = Instant::now();
            }
            Ok(())
        })
        .await?;
        Ok(SignalErasureCounts {
            signals,
            rejected_signals: rejected_keys.len(),
        })
    }

    /// Hands the keys of the stored signals to `take`, page by page.
    async fn scan_signals(
        &self,
        stack: &Stack,
        take: impl AsyncFnMut(ScanOutput) -> Result<()>,
    ) -> Result<()> {
        let prefix = AttributeValue::S(partition_prefix(&self.account));
        let signal_type = AttributeValue::S(self.signal_type.clone());
        let since = AttributeValue::S(self.since.to_string());
        let until = AttributeValue::S(self.until.to_string());
        let select = |call: ScanFluentBuilder| {
            call.consistent_read(true)
                .filter_expression(
                    "begins_with(pk, :account) AND (eventType = :type OR stepNodeId = :type) \
                     AND receivedAt >= :since AND receivedAt < :until",
                )
                .expression_attribute_values(":account", prefix.clone())
                .expression_attribute_values(":type", signal_type.clone())
                .expression_attribute_values(":since", since.clone())
                .expression_attribute_values(":until", until.clone())
                .projection_expression("pk, sk")
        };
        let table_name = stack.table_name(SIGNALS_TABLE)?;
        scan_table(&stack.dynamodb, table_name, note, select, take).await
    }

    /// Finds the keys of the rejected signals.
    async fn find_rejected_keys(&self, stack: &Stack) -> Result<Vec<Item>> {
        stack
            .rejected_table()?
            .find_keys_by_type(&self.account, &self.signal_type, self.since, self.until)
            .await
    }

    fn print(&self, counts: &SignalErasureCounts, format: Format) -> Result<()> {
        let SignalErasureCounts {
            signals,
            rejected_signals,
        } = counts;
        let target = self.target();
        let found = format!("{signals} signal(s), {rejected_signals} rejected signal(s)");
        if self.dry_run {
            let json = json!({
                "accountId": self.account, "type": self.signal_type, "since": self.since, "until": self.until,
                "signals": signals, "rejectedSignals": rejected_signals,
            });
            return format.print(&format!("Would erase {target}: {found}."), &json);
        }
        let erased_at = Timestamp::now();
        let json = json!({
            "erasedAt": erased_at, "accountId": self.account, "type": self.signal_type, "since": self.since,
            "until": self.until, "signals": signals, "rejectedSignals": rejected_signals,
        });
        format.print(&format!("Erased {target}, at {erased_at}: {found}."), &json)
    }
}
