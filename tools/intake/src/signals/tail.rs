//! `signals tail`: the signals of a whole account as they arrive.
//!
//! DynamoDB's stream of the table delivers them. The table of `cargo dev` has no stream; it is small, so it is scanned.

mod record;
mod shards;

use anyhow::{Result, bail};
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;

use self::shards::Shards;
use super::follow::{INTERVAL, follow};
use super::listing::Listing;
use crate::error::call_error;
use crate::interrupt::until_interrupted;
use crate::item::{Item, text};
use crate::keys::unknown_account_hint;
use crate::output::{Format, note};
use crate::stack::{SIGNALS, Stack};

#[derive(Args, Debug)]
pub(crate) struct Tail {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals with this eventType or stepNodeId
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
}

impl Tail {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let table = stack.table(SIGNALS)?;
        let begin = Timestamp::now();
        let mut listing = Listing::of_account(format);
        let shards = match stream_of(stack, table).await? {
            Some(stream) => Some(Shards::open(&stack.streams, table, stream).await?),
            None if stack.is_local => None,
            None => bail!("Table {table} has no stream. Enable the stream that template.yaml declares for it."),
        };
        let hint = unknown_account_hint(stack, &self.account).await;
        note(&format!("Waiting for signals of the account {}. Ctrl-C ends it.{hint}", self.account));
        let work = async {
            match shards {
                Some(shards) => self.read(shards, &mut listing).await,
                None => follow(async |since| self.scan(stack, table, since).await, begin, &mut listing).await,
            }
        };
        until_interrupted(work).await.map(drop)
    }

    async fn read(&self, mut shards: Shards<'_>, listing: &mut Listing) -> Result<()> {
        loop {
            let mut signals = shards.read().await?;
            signals.retain(|signal| self.matches(signal));
            // Shards are read one after another; the sort key begins with the time of arrival.
            signals.sort_by(|one, other| text(one, "sk").cmp(&text(other, "sk")));
            listing.add(&signals)?;
            tokio::time::sleep(INTERVAL).await;
        }
    }

    async fn scan(&self, stack: &Stack, table: &str, since: Timestamp) -> Result<Vec<Item>> {
        let scan = stack
            .client
            .scan()
            .table_name(table)
            .consistent_read(true)
            .filter_expression("receivedAt >= :since")
            .expression_attribute_values(":since", AttributeValue::S(since.to_string()));
        let items = scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await;
        let mut signals = items.map_err(|error| call_error(table, error))?;
        signals.retain(|signal| self.matches(signal));
        signals.sort_by(|one, other| text(one, "sk").cmp(&text(other, "sk")));
        Ok(signals)
    }

    fn matches(&self, signal: &Item) -> bool {
        let is_of_type =
            |event_type: &String| ["eventType", "stepNodeId"].iter().any(|name| text(signal, name) == Some(event_type));
        text(signal, "accountId") == Some(self.account.as_str()) && self.event_type.as_ref().is_none_or(is_of_type)
    }
}

/// The ARN of the table's stream, if it has one.
async fn stream_of(stack: &Stack, table: &str) -> Result<Option<String>> {
    let described = stack.client.describe_table().table_name(table).send().await;
    let description = described.map_err(|error| call_error(table, error))?.table;
    // A disabled stream keeps its ARN.
    let enabled = description.filter(|table| table.stream_specification().is_some_and(|stream| stream.stream_enabled));
    Ok(enabled.and_then(|table| table.latest_stream_arn))
}
