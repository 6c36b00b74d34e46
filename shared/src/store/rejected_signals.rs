//! The table RejectedSignals: what was refused, as it was sent, so that it can be looked at, mended and replayed
//! (SPEC 2.3). It is kept for 14 days.
//!
//! A day of an account is spread over a few partitions, so that a client which sends nothing but faults does not slow
//! down its own good signals' neighbours; whoever lists a day queries each.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::StoreError;
use super::batch_write::{Retries, batches, send_unprocessed};
use super::signals::Origin;
use super::values::{Item, n, s};
use crate::invocation::Budget;
use crate::model::account::AccountId;
use crate::model::fault::Fault;
use crate::model::signal::Rejected;
use crate::model::timestamp::Timestamp;

/// How long a rejected signal is kept.
pub const KEPT_FOR: Duration = Duration::from_hours(14 * 24);

/// Partitions of one account's day.
pub const SHARDS: u8 = 16;

/// How much of a payload is kept, in bytes. A signal is at most 256 KiB unless that is what is wrong with it, and an
/// item at most 400 KB, its faults and names included.
pub const PAYLOAD_BYTES: usize = 300 * 1024;

/// Calls at once. Few: each occupies a connection beside those of the signals that are accepted.
const CALLS_AT_ONCE: usize = 4;

/// The table.
#[derive(Clone, Debug)]
pub struct RejectedSignals {
    client: Client,
    table: String,
    retries: Retries,
}

/// A signal that was refused, as it is kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// Its place in the request, counted from 0.
    pub index: usize,
    /// As it was sent.
    pub payload: &'a str,
    /// Whose history it would have belonged to, if that could be read.
    pub who: Option<&'a str>,
    /// What is wrong with it.
    pub faults: &'a [Fault],
}

impl<'a> From<&'a Rejected<'a>> for Kept<'a> {
    fn from(rejected: &'a Rejected<'a>) -> Self {
        let Rejected { index, payload, who, faults } = rejected;
        Self { index: *index, payload, who: who.as_deref(), faults }
    }
}

/// The partition key of one shard of an account's day. `day` is the first ten characters of a timestamp.
#[must_use]
pub fn partition_key(account_id: &AccountId, day: &str, shard: u8) -> String {
    account_id.key(&format!("{day}#{shard:02}"))
}

/// The day of a moment, in UTC.
#[must_use]
pub fn day(moment: Timestamp) -> String {
    moment.to_string().chars().take("2026-11-20".len()).collect()
}

impl RejectedSignals {
    /// The table called `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), retries: Retries::default() }
    }

    /// Keeps rejected signals that came by the key `key_id`.
    ///
    /// # Errors
    /// When DynamoDB could not be had for all of them.
    pub async fn keep(
        &self,
        origin: Origin<'_>,
        key_id: &str,
        rejected: &[Kept<'_>],
        budget: Budget,
    ) -> Result<(), StoreError> {
        let keep = async |batch: &[Kept<'_>]| {
            let puts = batch.iter().filter_map(|kept| {
                let put = PutRequest::builder().set_item(Some(write(origin, key_id, *kept))).build().ok()?;
                Some(WriteRequest::builder().put_request(put).build())
            });
            let call = self.client.batch_write_item().request_items(&self.table, puts.collect());
            let unprocessed = budget.spend(call.send()).await??.unprocessed_items.unwrap_or_default();
            send_unprocessed(&self.client, batch.len(), unprocessed, &self.retries, budget).await
        };
        let batches = batches(rejected, |kept| kept.payload.len().min(PAYLOAD_BYTES)).into_iter();
        stream::iter(batches.map(keep).collect::<Vec<_>>()).buffer_unordered(CALLS_AT_ONCE).try_collect().await
    }
}

fn write(origin: Origin<'_>, key_id: &str, kept: Kept<'_>) -> Item {
    let request_identifier = origin.request_identifier.canonical();
    let shard = shard_of(&request_identifier, kept.index);
    let payload = kept.payload.get(..kept.payload.floor_char_boundary(PAYLOAD_BYTES)).unwrap_or_default();
    let mut item = Item::from([
        ("pk".to_owned(), s(partition_key(origin.account_id, &day(origin.received_at), shard))),
        ("sk".to_owned(), s(format!("{request_identifier}#{:04}", kept.index))),
        ("accountId".to_owned(), s(origin.account_id.as_str())),
        ("requestIdentifier".to_owned(), s(origin.request_identifier.as_sent())),
        ("index".to_owned(), AttributeValue::N(kept.index.to_string())),
        ("payload".to_owned(), s(payload)),
        ("faults".to_owned(), AttributeValue::L(kept.faults.iter().map(write_fault).collect())),
        ("keyId".to_owned(), s(key_id)),
        ("receivedAt".to_owned(), s(origin.received_at.to_string())),
        ("expiresAt".to_owned(), n(origin.received_at.after(KEPT_FOR).seconds())),
    ]);
    if payload.len() < kept.payload.len() {
        item.insert("truncated".to_owned(), AttributeValue::Bool(true));
    }
    if let Some(who) = kept.who {
        item.insert("who".to_owned(), s(who));
    }
    item
}

fn write_fault(fault: &Fault) -> AttributeValue {
    let Fault { place, code, message } = fault;
    let texts =
        [("field", place.field.as_str()), ("pointer", &place.pointer), ("code", code.as_str()), ("message", message)];
    AttributeValue::M(texts.into_iter().map(|(name, text)| (name.to_owned(), s(text))).collect())
}

/// The same signal of the same request always lies in the same shard, so a retry writes it over itself.
fn shard_of(request_identifier: &str, index: usize) -> u8 {
    let sum = request_identifier.bytes().fold(index, |sum, byte| sum.wrapping_add(usize::from(byte)));
    sum.checked_rem(usize::from(SHARDS)).and_then(|shard| u8::try_from(shard).ok()).unwrap_or_default()
}
