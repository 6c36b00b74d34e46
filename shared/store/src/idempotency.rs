//! The table Requests: which request came when, so that a retry stores nothing twice (SPEC 2.4).

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;

use crate::attributes::{Item, n, s, text};
use crate::throttling::TableThrottle;
use crate::{StoreError, before, yield_for_connection_reuse};
use model::account::AccountId;
use model::batch::Batch;
use model::deadline::Deadline;
use model::digest::Digest;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;

/// How long a claim stands.
pub const IDEMPOTENCY_TTL: Duration = Duration::from_hours(24);

/// The table.
#[derive(Clone, Debug)]
pub struct IdempotencyTable {
    client: Client,
    table: String,
    throttle: TableThrottle,
}

/// What is claimed: that this account's request with this identifier has this body.
#[derive(Clone, Copy, Debug)]
pub struct IdempotencyRecord<'a> {
    /// Whose request.
    pub account_id: &'a AccountId,
    /// Which request.
    pub request_identifier: &'a RequestIdentifier,
    /// Its body after decoding, of which the claim holds the SHA-256.
    pub body: &'a str,
    /// Its signals.
    pub batch: &'a Batch<'a>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Lambda's id of the invocation that it came by.
    pub invocation_id: &'a str,
}

/// When a claim is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the first signal, under the identifier that the caller sent.
    First,
    /// After storage failed, under an identifier that the caller is yet to be told. The retry's body will have that in
    /// it, so it will be another body: the claim also holds the SHA-256 of the signals, which will be the same.
    Late,
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request is new, or its first claim was written by this very invocation and the answer to that was lost.
    New,
    /// The same request came before.
    Replay {
        /// When it first arrived: its signals' keys are made of this.
        received_at: Timestamp,
    },
    /// Another request came before under this identifier.
    Conflict,
}

impl IdempotencyTable {
    /// The table called `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), throttle: TableThrottle::default() }
    }

    /// Claims the request's identifier, unless somebody did in the last 24 hours.
    ///
    /// # Errors
    /// When the claim could be neither written nor read.
    pub async fn claim(
        &self,
        claim: IdempotencyRecord<'_>,
        moment: Moment,
        deadline: Deadline,
    ) -> Result<Outcome, StoreError> {
        let body_hash = Digest::of(claim.body).to_hex();
        let signals_hash = (moment == Moment::Late).then(|| signals_hash(claim));
        let mut backoff = self.throttle.backoff(deadline);
        loop {
            let item = record(claim, &body_hash, signals_hash.as_deref());
            let standing = before(deadline, self.put(item, claim.received_at)).await?;
            if backoff.repeats(&standing).await {
                continue;
            }
            return match standing? {
                None => Ok(Outcome::New),
                Some(standing) => compare(&standing, claim, &body_hash).ok_or(StoreError::Corrupt),
            };
        }
    }

    /// Puts a record where none stands; returns the one that stands.
    async fn put(&self, item: Item, now: Timestamp) -> Result<Option<Item>, StoreError> {
        let call = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            // DynamoDB deletes what has expired some days late.
            .condition_expression("attribute_not_exists(pk) OR expiresAt <= :now")
            .expression_attribute_values(":now", n(now.seconds()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let sent = call.send().await;
        yield_for_connection_reuse().await;
        let Err(error) = sent else { return Ok(None) };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                failed.item().cloned().map(Some).ok_or(StoreError::Corrupt)
            }
            _ => Err(error.into()),
        }
    }
}

fn record(claim: IdempotencyRecord<'_>, body_hash: &str, signals_hash: Option<&str>) -> Item {
    let now = claim.received_at;
    let mut item = Item::from([
        ("pk".to_owned(), s(claim.account_id.partition_key(&claim.request_identifier.canonical()))),
        ("accountId".to_owned(), s(claim.account_id.as_str())),
        ("bodyHash".to_owned(), s(body_hash)),
        ("receivedAt".to_owned(), s(now.to_string())),
        ("invocation".to_owned(), s(claim.invocation_id)),
        ("expiresAt".to_owned(), n(now.plus(IDEMPOTENCY_TTL).seconds())),
    ]);
    if let Some(signals_hash) = signals_hash {
        item.insert("signalsHash".to_owned(), s(signals_hash));
    }
    item
}

fn compare(standing: &Item, claim: IdempotencyRecord<'_>, body_hash: &str) -> Option<Outcome> {
    let received_at = text(standing, "receivedAt")?.parse().ok()?;
    let same = text(standing, "bodyHash")? == body_hash
        || text(standing, "signalsHash").is_some_and(|standing| standing == signals_hash(claim));
    Some(if !same {
        Outcome::Conflict
    } else if text(standing, "invocation")? == claim.invocation_id {
        Outcome::New
    } else {
        Outcome::Replay { received_at }
    })
}

fn signals_hash(claim: IdempotencyRecord<'_>) -> String {
    Digest::of_all(claim.batch.payloads()).to_hex()
}
