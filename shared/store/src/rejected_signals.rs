//! The table RejectedSignals: what was refused, as it was sent, so that it can be looked at, mended and replayed
//! (SPEC 2.3). It is kept for 14 days.
//!
//! A day of an account is spread over a few partitions, so that a client which sends nothing but faults does not slow
//! down its own good signals' neighbours; whoever lists a day queries each.

use std::time::Duration;

use aws_sdk_dynamodb::Client;

use crate::StoreError;
use crate::batch_write::{BatchItem, BatchTable};
use crate::dynamodb_json::DynamoDbJson;
use crate::signals::BatchContext;
use model::account::AccountId;
use model::deadline::Deadline;
use model::digest::Digest;
use model::signal::RejectedSignal;
use model::timestamp::Timestamp;
use model::validation::FieldError;

/// How long a rejected signal is kept.
pub const RETENTION: Duration = Duration::from_hours(14 * 24);

/// Partitions of one account's day.
pub const SHARDS: u8 = 16;

/// How much of a payload is kept, in bytes. A signal is at most 256 KiB unless that is what is wrong with it, and an
/// item at most 400 KB, its faults and names included.
pub const PAYLOAD_BYTES: usize = 300 * 1024;

/// Hexadecimal digits of a payload's SHA-256 in its key: of 500 signals of one index, no two share 64 bits by accident.
const PAYLOAD_HASH_DIGITS: usize = 16;

/// Calls of a request at once. Few: each occupies a connection beside those of the signals that are accepted.
const CALLS_AT_ONCE: usize = 4;

/// The table.
#[derive(Clone, Debug)]
pub struct RejectedSignalsTable {
    table: BatchTable,
}

/// A signal that was refused, as it is kept.
#[derive(Clone, Copy, Debug)]
pub struct NewRejectedSignal<'a> {
    /// Its place in the request, counted from 0.
    pub index: usize,
    /// As it was sent.
    pub payload: &'a str,
    /// Whose history it would have belonged to, if that could be read.
    pub subject_id: Option<&'a str>,
    /// What is wrong with it.
    pub errors: &'a [FieldError],
}

impl<'a> From<&'a RejectedSignal<'a>> for NewRejectedSignal<'a> {
    fn from(rejected: &'a RejectedSignal<'a>) -> Self {
        let RejectedSignal { index, payload, subject_id, errors } = rejected;
        Self { index: *index, payload, subject_id: subject_id.as_deref(), errors }
    }
}

/// The partition key of one shard of an account's day. `day` is the first ten characters of a timestamp.
#[must_use]
pub fn partition_key(account_id: &AccountId, day: &str, shard: u8) -> String {
    account_id.partition_key(&format!("{day}#{shard:02}"))
}

/// The day of a moment, in UTC.
#[must_use]
pub fn day(moment: Timestamp) -> String {
    moment.to_string().chars().take("2026-11-20".len()).collect()
}

impl RejectedSignalsTable {
    /// The table called `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { table: BatchTable::new(client, table, CALLS_AT_ONCE) }
    }

    /// Keeps rejected signals that came by the key `key_id`.
    ///
    /// # Errors
    /// When DynamoDB did not take all of them before the deadline.
    pub async fn keep(
        &self,
        context: BatchContext<'_>,
        key_id: &str,
        rejected: &[NewRejectedSignal<'_>],
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let request = &Request { context, key_id, sort: context.request_identifier.canonical() };
        let items = rejected.iter().map(|kept| RejectedItem { request, kept }).collect();
        let refused = self.table.put(items, deadline).await?;
        if refused.is_empty() { Ok(()) } else { Err(StoreError::Invalid) }
    }
}

/// What the rejected signals of one request have in common.
struct Request<'a> {
    context: BatchContext<'a>,
    key_id: &'a str,
    /// The canonical requestIdentifier, with which sort keys begin.
    sort: String,
}

/// The item of one rejected signal.
#[derive(Clone, Copy)]
struct RejectedItem<'a> {
    request: &'a Request<'a>,
    kept: &'a NewRejectedSignal<'a>,
}

impl BatchItem for RejectedItem<'_> {
    /// With a hash of the payload: no idempotency record keeps several bodies from coming under one requestIdentifier when
    /// none of their signals is valid, and none of them may overwrite another's.
    fn sort_key(self) -> String {
        let digest = Digest::of(self.kept.payload).to_hex();
        let hash = digest.get(..PAYLOAD_HASH_DIGITS).unwrap_or_default();
        format!("{}#{:04}#{hash}", self.request.sort, self.kept.index)
    }

    fn text_bytes(self) -> usize {
        self.kept.payload.len().min(PAYLOAD_BYTES)
    }

    fn write(self, json: &mut DynamoDbJson) {
        let Self { request: Request { context, key_id, sort }, kept } = self;
        let shard = shard_of(sort, kept.index);
        let payload = kept.payload.get(..kept.payload.floor_char_boundary(PAYLOAD_BYTES)).unwrap_or_default();
        json.raw("{");
        for (name, text) in [
            ("pk", partition_key(context.account_id, &day(context.received_at), shard).as_str()),
            ("sk", &self.sort_key()),
            ("accountId", context.account_id.as_str()),
            ("requestIdentifier", context.request_identifier.as_sent()),
            ("payload", payload),
            ("keyId", key_id),
            ("receivedAt", &context.received_at.to_string()),
        ] {
            json.string_attribute(name, text);
            json.raw(",");
        }
        if let Some(subject_id) = kept.subject_id {
            json.string_attribute("subjectId", subject_id);
            json.raw(",");
        }
        if payload.len() < kept.payload.len() {
            json.raw("\"truncated\":{\"BOOL\":true},");
        }
        json.raw("\"errors\":{\"L\":[");
        for (index, error) in kept.errors.iter().enumerate() {
            json.raw(if index > 0 { "," } else { "" });
            write_error(json, error);
        }
        let expires_at = context.received_at.plus(RETENTION).seconds();
        json.raw(&format!("]}},\"index\":{{\"N\":\"{}\"}},\"expiresAt\":{{\"N\":\"{expires_at}\"}}}}", kept.index));
    }
}

fn write_error(json: &mut DynamoDbJson, error: &FieldError) {
    let FieldError { at, code, message } = error;
    json.raw("{\"M\":{");
    json.string_attribute("field", &at.field);
    for (name, text) in [("pointer", at.pointer.as_str()), ("code", code.as_str()), ("message", message)] {
        json.raw(",");
        json.string_attribute(name, text);
    }
    json.raw("}}");
}

/// The same signal of the same request always lies in the same shard, so a retry writes it over itself.
fn shard_of(request_identifier: &str, index: usize) -> u8 {
    let sum = request_identifier.bytes().fold(index, |sum, byte| sum.wrapping_add(usize::from(byte)));
    sum.checked_rem(usize::from(SHARDS)).and_then(|shard| u8::try_from(shard).ok()).unwrap_or_default()
}
