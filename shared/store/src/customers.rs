//! The table Customers: one item per customer, with the profile fields under their own names.

use std::time::Duration;

use model::account::AccountId;
use model::customer::{Change, CustomerUpdate};
use model::deadline::Deadline;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attributes::StringAttribute;
use crate::call_stats::CallStats;
use crate::client::Client;
use crate::deadline::before;
use crate::dynamodb_json::DynamoDbJson;
use crate::error::{Cause, StoreError};
use crate::service_error::ServiceError;
use crate::throttling::TableThrottle;

/// The table.
#[derive(Clone, Debug)]
pub struct CustomersTable {
    client: Client,
    table: String,
    throttle: TableThrottle,
}

/// An update with the time at which it is written.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    account_id: &'a AccountId,
    update: &'a CustomerUpdate<'a>,
    now: Timestamp,
    /// The condition of the write on the stored `updatedAt`.
    condition: &'static str,
}

/// An update of a client is written only over an older one.
const OVER_OLDER: &str = "attribute_not_exists(updatedAt) OR updatedAt < :now";

/// Lines of one import may have the same time: they are written over one another, in their order.
const OVER_OLDER_OR_SAME: &str = "attribute_not_exists(updatedAt) OR updatedAt <= :now";

/// The result of a call.
enum Written {
    /// The update is stored over a customer of this `createdAt`, or over none.
    Over { created_at: Option<Timestamp> },
    /// The update is not stored: the customer was updated at the same time or later.
    Newer { updated_at: Timestamp },
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

/// The response to an update, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Updated {
    #[serde(default)]
    attributes: ReplacedAttributes,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplacedAttributes {
    created_at: Option<StringAttribute<Timestamp>>,
}

/// The response to an update whose condition is not met.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NotUpdated {
    item: NewerItem,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewerItem {
    updated_at: StringAttribute<Timestamp>,
}

impl UpsertResult {
    /// The word in responses and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
        }
    }
}

impl CustomersTable {
    /// The table called `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), throttle: TableThrottle::default() }
    }

    /// Changes the fields that `update` names, and no others, in one `UpdateItem`: two concurrent updates both take effect.
    ///
    /// An attempt that timed out may still reach DynamoDB later. A condition prevents it from undoing a newer update: an
    /// update is written only over an older `updatedAt`. If there is a newer `updatedAt`, the update is written again with
    /// the millisecond after it.
    ///
    /// # Errors
    /// [`StoreError::ItemTooLarge`] when the item would exceed DynamoDB's limit; otherwise when DynamoDB fails.
    pub async fn upsert(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<UpsertOutcome, StoreError> {
        let mut attempt = Attempt { account_id, update, now, condition: OVER_OLDER };
        // The times of attempts that may have taken effect without a response.
        let mut in_doubt = Vec::new();
        let mut backoff = self.throttle.backoff(deadline);
        loop {
            let written = before(deadline, self.write(attempt, &mut in_doubt)).await?;
            if backoff.repeats(&written).await {
                continue;
            }
            match written? {
                Written::Over { created_at } => {
                    let is_new = created_at.is_none_or(|created_at| in_doubt.contains(&created_at));
                    let result = if is_new { UpsertResult::Created } else { UpsertResult::Updated };
                    return Ok(UpsertOutcome { result, updated_at: attempt.now });
                }
                Written::Newer { updated_at } => attempt.now = updated_at.plus(Duration::from_millis(1)),
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
        deadline: Deadline,
    ) -> Result<bool, StoreError> {
        let attempt = Attempt { account_id, update, now: updated_at, condition: OVER_OLDER_OR_SAME };
        let mut backoff = self.throttle.backoff(deadline);
        loop {
            let written = before(deadline, self.write(attempt, &mut Vec::new())).await?;
            if !backoff.repeats(&written).await {
                return written.map(|written| matches!(written, Written::Over { .. }));
            }
        }
    }

    async fn write(&self, attempt: Attempt<'_>, in_doubt: &mut Vec<Timestamp>) -> Result<Written, StoreError> {
        let call = self.client.send("UpdateItem", self.update(attempt).into_bytes());
        let (sent, attempts) = CallStats::attempts_of(call).await;
        if attempts > 1 {
            in_doubt.push(attempt.now);
        }
        let error = match sent {
            Ok(response) => {
                let Updated { attributes } = parse(&response)?;
                return Ok(Written::Over { created_at: attributes.created_at.map(|attribute| attribute.value) });
            }
            Err(error) => error,
        };
        match error.as_service_error().and_then(ServiceError::condition_failed) {
            Some(newer) => newer.map(|NotUpdated { item }| Written::Newer { updated_at: item.updated_at.value }),
            None => Err(error.into()),
        }
    }

    /// The body of an `UpdateItem` ("`UpdateItem`" in the DynamoDB API reference).
    fn update(&self, Attempt { account_id, update, now, condition }: Attempt<'_>) -> DynamoDbJson {
        let (mut set, mut remove) = (String::with_capacity(256), String::new());
        let (mut names, mut values) = (DynamoDbJson::with_capacity(256), DynamoDbJson::with_capacity(512));
        for (index, (name, change)) in update.changes.iter().enumerate() {
            let number = &index.to_string();
            names.raw(if index > 0 { ",\"#" } else { ",\"ExpressionAttributeNames\":{\"#" });
            names.raw(number);
            names.raw("\":");
            names.string(name);
            match change {
                Change::Set(value) => {
                    set.extend([", #", number, " = :", number]);
                    values.raw(",\":");
                    values.raw(number);
                    values.raw("\":");
                    values.attribute_value(*value);
                }
                Change::Remove => remove.extend([if remove.is_empty() { " REMOVE #" } else { ", #" }, number]),
            }
        }
        if !update.changes.is_empty() {
            names.raw("}");
        }
        let mut json = DynamoDbJson::with_capacity(1024);
        json.raw("{\"TableName\":");
        json.string(&self.table);
        json.raw(",\"Key\":{");
        json.string_attribute("pk", &account_id.partition_key(&update.customer_id));
        json.raw("},\"UpdateExpression\":\"SET accountId = :account, customerId = :customer, updatedAt = :now, ");
        json.raw("createdAt = if_not_exists(createdAt, :now)");
        json.raw(&set);
        json.raw(&remove);
        json.raw("\",\"ConditionExpression\":\"");
        json.raw(condition);
        // Only the replaced attributes: enough to see whether the item existed.
        json.raw("\",\"ReturnValues\":\"UPDATED_OLD\",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"");
        json.append(&names);
        json.raw(",\"ExpressionAttributeValues\":{");
        json.string_attribute(":account", account_id.as_str());
        json.raw(",");
        json.string_attribute(":customer", update.customer_id.as_ref());
        json.raw(",");
        json.string_attribute(":now", &now.to_string());
        json.append(&values);
        json.raw("}}");
        json
    }
}

/// Parses a response. JSON without the expected attributes is that of a malformed item.
fn parse<'de, T: Deserialize<'de>>(response: &'de [u8]) -> Result<T, StoreError> {
    serde_json::from_slice(response)
        .map_err(|error| if error.is_data() { StoreError::Corrupt } else { Cause::ResponseError.into() })
}
