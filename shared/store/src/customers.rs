//! The table Customers: one item per customer, with the profile fields under their own names.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use model::account::AccountId;
use model::customer::{Change, CustomerUpdate};
use model::timestamp::Timestamp;
use serde::Serialize;

use crate::attributes::{Item, attribute_value, get_timestamp, number, string};
use crate::call_stats::CallStats;
use crate::deadline::before;
use crate::error::StoreError;
use crate::fence::Fence;
use crate::patience::{Backoff, Patience, TableHealth};

/// The table.
#[derive(Clone, Debug)]
pub struct CustomersTable {
    client: Client,
    table: String,
    health: TableHealth,
}

/// An update with its fence.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    account_id: &'a AccountId,
    update: &'a CustomerUpdate<'a>,
    fence: Fence,
    /// The condition of the write on the stored fence.
    condition: &'static str,
}

/// An update of a client is written only over one with a lower fence.
const OVER_LOWER: &str = "attribute_not_exists(fence) OR fence < :fence";

/// Lines of one import may have the same time: they are written over one another, in their order.
const OVER_LOWER_OR_SAME: &str = "attribute_not_exists(fence) OR fence <= :fence";

/// The outcome of one attempt to update.
enum AttemptOutcome {
    /// The update is stored. These are the attributes that it replaced.
    Written(Item),
    /// The update is not stored: this item has a higher fence, or the same.
    Refused(Item),
}

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpsertOutcome {
    /// Whether it created the customer.
    pub result: UpsertResult,
    /// The `updatedAt` that was stored.
    pub updated_at: Timestamp,
}

/// Whether the customer existed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpsertResult {
    /// It did not.
    Created,
    /// It did.
    Updated,
}

impl CustomersTable {
    /// The table called `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), health: TableHealth::default() }
    }

    /// Changes the fields that `update` names, and no others, in one `UpdateItem`: two concurrent updates both take effect.
    ///
    /// An attempt that timed out may still reach DynamoDB later. A condition prevents it from undoing a newer update: an
    /// update is written only over a lower fence. If there is a higher one, the update is written again above it.
    ///
    /// # Errors
    /// [`StoreError::ItemTooLarge`] when the item would exceed DynamoDB's limit; otherwise when DynamoDB fails.
    pub async fn upsert(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        now: Timestamp,
        patience: impl Into<Patience>,
    ) -> Result<UpsertOutcome, StoreError> {
        let (began, mut backoff, access) = (Instant::now(), Backoff::default(), self.health.access(patience));
        let mut attempt = Attempt { account_id, update, fence: Fence::at(now)?, condition: OVER_LOWER };
        // The fences of attempts that may have taken effect without a response.
        let mut in_doubt = Vec::new();
        loop {
            let outcome = |created_at: Option<Timestamp>, is_own: bool| UpsertOutcome {
                result: if is_own || created_at.is_none() { UpsertResult::Created } else { UpsertResult::Updated },
                updated_at: attempt.fence.timestamp(),
            };
            let written = access.call(self.write(attempt, &mut in_doubt)).await;
            if access.repeats(&written).await {
                continue;
            }
            match written? {
                AttemptOutcome::Written(old) => {
                    let created_at = get_timestamp(&old, "createdAt")?;
                    return Ok(outcome(created_at, in_doubt.iter().any(|own| Some(own.timestamp()) == created_at)));
                }
                AttemptOutcome::Refused(item) => {
                    let stored = Fence::of(&item)?;
                    if stored == attempt.fence && in_doubt.contains(&stored) {
                        // An attempt of this update has taken effect in the meantime.
                        let created_at = get_timestamp(&item, "createdAt")?;
                        return Ok(outcome(created_at, created_at == Some(stored.timestamp())));
                    }
                    let wait = backoff.next_wait();
                    before(access.deadline(), tokio::time::sleep(wait)).await?;
                    attempt.fence = stored.next()?.max(Fence::at(now.plus(began.elapsed()))?);
                }
            }
        }
    }

    /// Changes the same as [`upsert`](Self::upsert), unless the stored customer was updated after `updated_at`: then it
    /// changes nothing and returns `false`.
    ///
    /// An attempt that timed out and reaches DynamoDB later may undo another update with the same `updated_at`, and no other.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert).
    pub async fn upsert_unless_newer(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        updated_at: Timestamp,
        patience: impl Into<Patience>,
    ) -> Result<bool, StoreError> {
        let attempt = Attempt { account_id, update, fence: Fence::last_of(updated_at)?, condition: OVER_LOWER_OR_SAME };
        let access = self.health.access(patience);
        let written = access.repeat(|| async { self.write(attempt, &mut Vec::new()).await }).await?;
        Ok(matches!(written, AttemptOutcome::Written(_)))
    }

    async fn write(&self, attempt: Attempt<'_>, in_doubt: &mut Vec<Fence>) -> Result<AttemptOutcome, StoreError> {
        // On the heap, as in `before`.
        let (sent, attempts) = CallStats::attempts_of(Box::pin(self.update(attempt).send())).await;
        if attempts > 1 {
            in_doubt.push(attempt.fence);
        }
        let error = match sent {
            Ok(output) => return Ok(AttemptOutcome::Written(output.attributes.unwrap_or_default())),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                failed.item().cloned().map(AttemptOutcome::Refused).ok_or(StoreError::Corrupt)
            }
            _ => Err(error.into()),
        }
    }

    fn update(&self, Attempt { account_id, update, fence, condition }: Attempt<'_>) -> UpdateItemFluentBuilder {
        let mut set = String::from(
            "SET accountId = :account, customerId = :customer, fence = :fence, updatedAt = :now, \
             createdAt = if_not_exists(createdAt, :now)",
        );
        let mut remove = String::new();
        // Maps of their final size: one that grows hashes its keys again.
        let mut names = HashMap::with_capacity(update.changes().len());
        let mut values = HashMap::with_capacity(update.changes().len().saturating_add(4));
        values.insert(":account".to_owned(), string(account_id.as_str()));
        values.insert(":customer".to_owned(), string(update.customer_id()));
        values.insert(":fence".to_owned(), number(fence.number()));
        values.insert(":now".to_owned(), string(fence.timestamp().to_string()));
        for (index, (name, change)) in update.changes().iter().enumerate() {
            names.insert(format!("#{index}"), name.to_string());
            // Writing to a String cannot fail.
            match change {
                Change::Set(value) => {
                    let _ = write!(set, ", #{index} = :{index}");
                    values.insert(format!(":{index}"), attribute_value(*value));
                }
                Change::Remove => {
                    let word = if remove.is_empty() { " REMOVE" } else { "," };
                    let _ = write!(remove, "{word} #{index}");
                }
            }
        }
        self.client
            .update_item()
            .table_name(&self.table)
            .key("pk", string(account_id.partition_key(update.customer_id())))
            .update_expression(set + &remove)
            .condition_expression(condition)
            .set_expression_attribute_names((!names.is_empty()).then_some(names))
            .set_expression_attribute_values(Some(values))
            // Only the replaced attributes: enough to see whether the item existed.
            .return_values(ReturnValue::UpdatedOld)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }
}
