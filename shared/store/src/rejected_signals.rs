//! The table RejectedSignals: signals that broke a rule, as they were sent, for 14 days, so that an
//! operator can inspect, edit and redrive them (docs/api.md, Signals).
//!
//! A day of an account is spread over several partitions, so that a client that sends only invalid
//! signals does not use up the throughput of one partition. To list a day, query each of them.

use std::borrow::Cow;
use std::time::Duration;

use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use model::account::AccountId;
use model::digest::Digest;
use model::signal::RejectedSignal;
use model::timestamp::Timestamp;
use model::validation::FieldError;
use serde::{Deserialize, Serialize};

use crate::batch_context::BatchContext;
use crate::bulk_write::{BulkItem, BulkWriter, ItemOutcome};
use crate::dynamodb_json::DynamoDbJson;

/// How long a rejected signal is stored.
pub const RETENTION: Duration = Duration::from_hours(14 * 24);

/// Partitions of one account's day.
pub const SHARDS: u8 = 16;

/// The longest payload that is stored whole, in bytes. A valid signal has at most 256 KiB, an item
/// at most 400 KB with its errors and attribute names.
pub const MAX_PAYLOAD_BYTES: usize = 300 * 1024;

/// Hexadecimal digits of the payload's SHA-256 in the key: 64 bits, enough to tell 500 signals of
/// one index apart.
const PAYLOAD_HASH_DIGITS: usize = 16;

/// Calls at the same time. Few, since each needs a connection beside those for the valid signals.
const CONCURRENT_CALLS: usize = 4;

/// A rejected signal as it is stored: an item of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectedSignalItem<'a> {
    /// `accountId#day#shard`: see [`partition_key`].
    pub pk: String,
    /// `requestIdentifier#index#hash of the payload`. The hash distinguishes several bodies with one
    /// requestIdentifier: without a valid signal, no idempotency record rejects the second one.
    pub sk: String,
    pub account_id: Cow<'a, AccountId>,
    /// The API key that the signal was sent with.
    pub key_id: Cow<'a, str>,
    /// The requestIdentifier, as it was sent or generated.
    pub request_identifier: Cow<'a, str>,
    /// The index of the signal in its request, from 0.
    pub index: usize,
    /// When the request was first received.
    pub received_at: Timestamp,
    /// The customer or the emitter, if it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_id: Option<Cow<'a, str>>,
    /// The signal as it was sent; if it is longer than [`MAX_PAYLOAD_BYTES`], only its beginning.
    pub payload: Cow<'a, str>,
    /// Whether the payload is only the beginning of the signal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The validation errors that the client received.
    pub errors: Cow<'a, [FieldError]>,
    /// When DynamoDB deletes the item, in seconds since 1970.
    pub expires_at: u64,
}

impl<'a> RejectedSignalItem<'a> {
    /// The item of a rejected signal that is stored at `now`.
    pub fn new(
        context: BatchContext<'a>,
        rejected: &'a RejectedSignal<'a>,
        now: Timestamp,
    ) -> Self {
        let RejectedSignal {
            index,
            payload,
            subject_id,
            errors,
        } = rejected;
        let request_identifier = context.request_identifier.canonical();
        let shard = shard_of(&request_identifier, *index);
        let hash = Digest::sha256(payload).to_hex();
        let hash = hash
            .get(..PAYLOAD_HASH_DIGITS)
            .expect("a SHA-256 has 64 hexadecimal digits");
        let (stored_payload, _) = payload.split_at(payload.floor_char_boundary(MAX_PAYLOAD_BYTES));
        Self {
            pk: partition_key(context.account_id, &context.first_received_at.day(), shard),
            sk: format!("{request_identifier}#{index:04}#{hash}"),
            account_id: Cow::Borrowed(context.account_id),
            key_id: context.key_id.into(),
            request_identifier: context.request_identifier.as_sent().into(),
            index: *index,
            received_at: context.first_received_at,
            subject_id: subject_id.as_deref().map(Cow::Borrowed),
            payload: stored_payload.into(),
            truncated: stored_payload.len() < payload.len(),
            errors: Cow::Borrowed(errors),
            expires_at: now.plus(RETENTION).seconds(),
        }
    }

    /// The item as it is stored at `now`, once it is known when the first attempt of its request
    /// was received.
    #[must_use]
    pub fn of_first_attempt(self, context: BatchContext<'_>, now: Timestamp) -> Self {
        let BatchContext {
            request_identifier,
            first_received_at,
            ..
        } = context;
        let shard = shard_of(&request_identifier.canonical(), self.index);
        Self {
            pk: partition_key(&self.account_id, &first_received_at.day(), shard),
            received_at: first_received_at,
            expires_at: now.plus(RETENTION).seconds(),
            ..self
        }
    }
}

/// The partition key of one shard of an account's day. `day` is from [`Timestamp::day`].
pub fn partition_key(account_id: &AccountId, day: &str, shard: u8) -> String {
    account_id.partition_key(&format!("{day}#{shard:02}"))
}

/// The shard of a signal: always the same one, so that a retry overwrites its own items.
fn shard_of(request_identifier: &str, index: usize) -> u8 {
    let sum = request_identifier
        .bytes()
        .fold(index, |sum, byte| sum.wrapping_add(usize::from(byte)));
    u8::try_from(sum % usize::from(SHARDS)).expect("the remainder is below a u8")
}

/// The table of the rejected signals.
#[derive(Clone, Debug)]
pub struct RejectedSignalsTable {
    writer: BulkWriter,
}

impl RejectedSignalsTable {
    /// The environment variable that names the table.
    pub const VARIABLE: &str = "REJECTED_SIGNALS_TABLE";

    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            writer: BulkWriter::new(client, table, CONCURRENT_CALLS),
        }
    }

    /// Stores rejected signals of one request. Returns what became of each, in their order.
    pub async fn store<'i>(
        &self,
        items: impl IntoIterator<Item = &'i RejectedSignalItem<'i>>,
        deadline: Deadline,
    ) -> Vec<ItemOutcome> {
        let items = items.into_iter().collect();
        self.writer.put_all(items, deadline).await
    }

    /// The same table for one message of a drain.
    #[must_use]
    pub fn with_own_call_limit(&self) -> Self {
        Self {
            writer: self.writer.with_own_call_limit(),
        }
    }
}

impl BulkItem for &RejectedSignalItem<'_> {
    fn sort_key(self) -> String {
        self.sk.clone()
    }

    fn text_bytes(self) -> usize {
        self.payload.len()
    }

    fn write(self, json: &mut DynamoDbJson) {
        let item: serde_dynamo::Item =
            serde_dynamo::to_item(self).expect("strings, numbers and lists of them serialize");
        json.push_serialized(item);
    }
}
