//! The table Idempotency: which requestIdentifier was used when and with which body, so that a
//! retry stores nothing twice (docs/api.md, Retries).

use std::time::Duration;

use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use model::account::AccountId;
use model::batch::Batch;
use model::digest::Digest;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attributes::{from_item, number, to_item};
use crate::batch_context::BatchContext;
use crate::error::StoreError;
use crate::retry::repeat;

/// How long an idempotency record is valid.
pub const IDEMPOTENCY_TTL: Duration = Duration::from_hours(24);

/// Rounds a time, which has whole milliseconds, up to a second when it is added before `seconds()`.
const PART_OF_A_SECOND: Duration = Duration::from_millis(999);

/// The table of the idempotency records.
#[derive(Clone, Debug)]
pub struct IdempotencyTable {
    client: Client,
    table: String,
}

/// The hashes of a request, SHA-256 in hexadecimal: a retry has the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestHashes {
    /// The hash of the decoded body.
    body_hash: String,
    /// The hash of all signals, without the rest of the body.
    signals_hash: String,
}

impl RequestHashes {
    /// The hashes of a request with this body, which was read as `batch`.
    pub fn new(body: &str, batch: &Batch<'_>) -> Self {
        Self {
            body_hash: Digest::sha256(body).to_hex(),
            signals_hash: batch.signals_hash(),
        }
    }
}

/// The idempotency record of one request: an item of the table.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IdempotencyRecord {
    pk: String,
    account_id: AccountId,
    /// SHA-256 of the decoded body.
    body_hash: String,
    /// SHA-256 of the signals, where the record was written after a failure: the retry has the same
    /// signals, but another body, since the client adds the requestIdentifier to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signals_hash: Option<String>,
    received_at: Timestamp,
    /// Lambda's id of the invocation that wrote the record.
    #[serde(rename = "invocation")]
    request_id: String,
    /// Seconds since 1970.
    expires_at: u64,
}

impl IdempotencyRecord {
    /// The record of a request, which expires 24 hours after `now`.
    fn new(context: BatchContext<'_>, hashes: &RequestHashes, now: Timestamp) -> Self {
        Self {
            pk: context
                .account_id
                .partition_key(&context.request_identifier.canonical()),
            account_id: context.account_id.clone(),
            body_hash: hashes.body_hash.clone(),
            signals_hash: None,
            received_at: context.first_received_at,
            request_id: context.request_id.to_owned(),
            // A record has expired at the beginning of this second.
            expires_at: now.plus(IDEMPOTENCY_TTL + PART_OF_A_SECOND).seconds(),
        }
    }
}

/// Whether a request is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is new. This is also the outcome when this invocation wrote the record, but DynamoDB's
    /// response was lost.
    New,
    /// The same request was received before.
    Replay {
        /// When it was first received: the keys of its signals contain this.
        received_at: Timestamp,
    },
    /// Another request with this requestIdentifier was received before.
    Conflict,
}

impl IdempotencyTable {
    /// The environment variable that names the table.
    pub const VARIABLE: &str = "IDEMPOTENCY_TABLE";

    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
        }
    }

    /// Writes the record of a request, which expires 24 hours after `now`, unless there is one of the
    /// last 24 hours. The first signal is stored only afterwards.
    ///
    /// # Errors
    /// When the record could be neither written nor read.
    pub async fn write_record(
        &self,
        context: BatchContext<'_>,
        hashes: &RequestHashes,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<RecordOutcome, StoreError> {
        let record = IdempotencyRecord::new(context, hashes, now);
        repeat(deadline, || self.put_or_compare(&record, hashes, now)).await
    }

    /// Writes the record of a request whose signals could not all be stored, under a generated
    /// requestIdentifier for the 503. Returns whether a retry with that identifier will store nothing
    /// twice.
    pub async fn write_late_record(
        &self,
        context: BatchContext<'_>,
        hashes: &RequestHashes,
        deadline: Deadline,
    ) -> bool {
        let now = context.first_received_at;
        let signals_hash = Some(hashes.signals_hash.clone());
        let record = IdempotencyRecord {
            signals_hash,
            ..IdempotencyRecord::new(context, hashes, now)
        };
        let written = repeat(deadline, || self.put_or_compare(&record, hashes, now)).await;
        written == Ok(RecordOutcome::New)
    }

    /// Puts a record, or compares the request with the record that exists instead.
    async fn put_or_compare(
        &self,
        record: &IdempotencyRecord,
        hashes: &RequestHashes,
        now: Timestamp,
    ) -> Result<RecordOutcome, StoreError> {
        let call = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(record)?))
            // DynamoDB deletes an expired item up to some days later.
            .condition_expression("attribute_not_exists(pk) OR expiresAt <= :now")
            .expression_attribute_values(":now", number(now.seconds()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let sent = call.send().await;
        let Err(error) = sent else {
            return Ok(RecordOutcome::New);
        };
        let Some(PutItemError::ConditionalCheckFailedException(failed)) = error.as_service_error()
        else {
            return Err(error.into());
        };
        let existing = failed.item().ok_or(StoreError::Corrupt)?;
        let existing = from_item(existing.clone())?;
        Ok(compare(&existing, record, hashes))
    }
}

/// The outcome when there is a record already. One invocation may drain two attempts of a request,
/// so its id alone does not show that the record is its own: the time must be equal, too.
fn compare(
    existing: &IdempotencyRecord,
    record: &IdempotencyRecord,
    hashes: &RequestHashes,
) -> RecordOutcome {
    let has_same_body = existing.body_hash == record.body_hash;
    let has_same_signals = existing.signals_hash.as_ref() == Some(&hashes.signals_hash);
    let is_own_record =
        existing.request_id == record.request_id && existing.received_at == record.received_at;
    if !has_same_body && !has_same_signals {
        RecordOutcome::Conflict
    } else if is_own_record {
        RecordOutcome::New
    } else {
        RecordOutcome::Replay {
            received_at: existing.received_at,
        }
    }
}
