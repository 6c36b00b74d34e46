//! The table Customers: one item a customer, the profile's members under their own names.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use serde::Serialize;

use crate::attributes::{Item, text};
use crate::dynamodb_json::DynamoDbJson;
use crate::throttling::TableThrottle;
use crate::{StoreError, before};
use model::account::AccountId;
use model::customer::{Change, CustomerUpdate};
use model::deadline::Deadline;
use model::timestamp::Timestamp;

/// The table.
#[derive(Clone, Debug)]
pub struct CustomersTable {
    client: Client,
    table: String,
    throttle: TableThrottle,
}

/// An update as it is written at one time.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    account_id: &'a AccountId,
    update: &'a CustomerUpdate<'a>,
    now: Timestamp,
}

/// What came of a call.
enum Written {
    /// The update is stored, over these attributes of the customer.
    Over(Item),
    /// It is not: the customer was updated at the same time or later.
    Newer { updated_at: Timestamp },
}

/// The attribute `name` of `item`, if it is there.
fn timestamp(item: &Item, name: &str) -> Result<Option<Timestamp>, StoreError> {
    item.contains_key(name)
        .then(|| text(item, name).and_then(|text| text.parse().ok()).ok_or(StoreError::Corrupt))
        .transpose()
}

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpsertOutcome {
    /// Whether it created the customer.
    pub result: UpsertResult,
    /// The `updatedAt` that was stored.
    pub updated_at: Timestamp,
}

/// Whether the customer was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpsertResult {
    /// It was not.
    Created,
    /// It was.
    Updated,
}

impl UpsertResult {
    /// The word for it in answers and in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
        }
    }
}

impl CustomersTable {
    /// The table called `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), throttle: TableThrottle::default() }
    }

    /// Changes what `update` names of a customer, and nothing else: one `UpdateItem`, so that two at once both survive.
    ///
    /// An attempt that was given up may still reach DynamoDB later. A condition keeps it from undoing a newer update: an
    /// update is only written over an older `updatedAt`. One that finds a newer `updatedAt` is not refused: it is written
    /// again, with the time right after.
    ///
    /// # Errors
    /// [`StoreError::ItemTooLarge`] when the profile would outgrow an item; otherwise when DynamoDB cannot do it.
    pub async fn upsert(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<UpsertOutcome, StoreError> {
        let mut attempt = Attempt { account_id, update, now };
        // The times of attempts of which it is not known whether they took effect.
        let mut in_doubt = Vec::new();
        let mut backoff = self.throttle.backoff(deadline);
        loop {
            let written = before(deadline, self.write(attempt, &mut in_doubt)).await?;
            if backoff.repeats(&written).await {
                continue;
            }
            match written? {
                Written::Over(old) => {
                    let is_new = match timestamp(&old, "createdAt")? {
                        None => true,
                        Some(created_at) => in_doubt.contains(&created_at),
                    };
                    let result = if is_new { UpsertResult::Created } else { UpsertResult::Updated };
                    return Ok(UpsertOutcome { result, updated_at: attempt.now });
                }
                Written::Newer { updated_at } => attempt.now = updated_at.plus(Duration::from_millis(1)),
            }
        }
    }

    async fn write(&self, attempt: Attempt<'_>, in_doubt: &mut Vec<Timestamp>) -> Result<Written, StoreError> {
        let tries = Arc::new(AtomicU32::new(0));
        let (body, counted) = (self.body(attempt).body_override(), tries.clone());
        // The body is replaced; the table is named for the SDK to find its endpoint by.
        let call = self.client.update_item().table_name(&self.table).customize().mutate_request(move |request| {
            counted.fetch_add(1, Ordering::Relaxed);
            body(request);
        });
        let sent = call.send().await;
        if tries.load(Ordering::Relaxed) > 1 {
            in_doubt.push(attempt.now);
        }
        let error = match sent {
            Ok(output) => return Ok(Written::Over(output.attributes.unwrap_or_default())),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                let updated_at = failed.item().map(|item| timestamp(item, "updatedAt")).transpose()?.flatten();
                Ok(Written::Newer { updated_at: updated_at.ok_or(StoreError::Corrupt)? })
            }
            _ => Err(error.into()),
        }
    }

    fn body(&self, Attempt { account_id, update, now }: Attempt<'_>) -> DynamoDbJson {
        let mut set = String::from(
            "SET accountId = :account, customerId = :customer, updatedAt = :now, createdAt = if_not_exists(createdAt, :now)",
        );
        let (mut remove, mut names, mut values) = (String::new(), DynamoDbJson::default(), DynamoDbJson::default());
        values.string_attribute(":account", account_id.as_str());
        values.raw(",");
        values.string_attribute(":customer", &update.customer_id);
        values.raw(",");
        values.string_attribute(":now", &now.to_string());
        for (index, (name, change)) in update.changes.iter().enumerate() {
            names.raw(&format!("{}\"#{index}\":", if index > 0 { "," } else { "" }));
            names.string(name);
            // Writing to a String cannot fail.
            match change {
                Change::Set(value) => {
                    let _ = write!(set, ", #{index} = :{index}");
                    values.raw(&format!(",\":{index}\":"));
                    values.attribute_value(*value);
                }
                Change::Remove => {
                    let word = if remove.is_empty() { " REMOVE" } else { "," };
                    let _ = write!(remove, "{word} #{index}");
                }
            }
        }
        let mut json = DynamoDbJson::default();
        json.raw("{\"TableName\":");
        json.string(&self.table);
        json.raw(",\"Key\":{");
        json.string_attribute("pk", &account_id.partition_key(&update.customer_id));
        json.raw("},\"UpdateExpression\":");
        json.string(&(set + &remove));
        json.raw(",\"ConditionExpression\":\"attribute_not_exists(updatedAt) OR updatedAt < :now\"");
        // Of the old item only what is written over: enough to see whether there was one.
        json.raw(",\"ReturnValues\":\"UPDATED_OLD\",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"");
        if !update.changes.is_empty() {
            json.raw(",\"ExpressionAttributeNames\":{");
            json.append(&names);
            json.raw("}");
        }
        json.raw(",\"ExpressionAttributeValues\":{");
        json.append(&values);
        json.raw("}}");
        json
    }
}
