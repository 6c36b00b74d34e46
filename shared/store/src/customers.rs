//! The table Customers: one item per customer, with the profile fields under their own names.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use model::account::AccountId;
use model::customer::{Change, CustomerUpdate, FENCE_PREFIX};
use model::timestamp::Timestamp;
use serde::Serialize;

use crate::attributes::{Item, attribute_value, string};
use crate::circuit_breaker::CircuitBreaker;
use crate::error::StoreError;
use crate::fence::{FENCE, Fence};
use crate::table_access::{Backoff, TableAccess};
use crate::time_limit::TimeLimit;
use aws::cause::Cause;
use aws::deadline::before;

pub use crate::fence::UpdateMark;

/// The table of the profiles. Clones share its circuit breaker.
#[derive(Clone, Debug)]
pub struct CustomersTable {
    client: Client,
    table: String,
    breaker: CircuitBreaker,
}

/// One `UpdateItem`.
#[derive(Clone, Copy)]
struct Write<'a> {
    account_id: &'a AccountId,
    customer_id: &'a str,
    changes: &'a [FieldChange<'a>],
    /// The update's mark: its fence becomes that of each changed field.
    mark: UpdateMark,
    /// The fence that the item gets.
    item_fence: Fence,
    condition: Condition,
}

type FieldChange<'a> = (Cow<'a, str>, Change<'a>);

/// Over which item an update is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// There is no item, or it has a lower fence.
    ItemIsOlder,
    /// As above, or the item has the same fence. Lines of one import may have the same time: they
    /// are written over one another, in their order.
    ItemIsNotNewer,
    /// There is an item with a lower fence, and so is the fence of each changed field that has one.
    FieldsAreOlder,
}

/// What became of a write.
enum Written {
    /// It is stored. These are the attributes that it replaced.
    Over(Item),
    /// It is not stored, because of this item; `None` if its condition needs one.
    Refused(Option<Item>),
}

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateResult {
    /// There was no such customer before.
    Created,
    /// There was one before.
    Updated,
    /// It waits in the overflow queue.
    Deferred,
}

impl CustomersTable {
    /// The table called `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
            breaker: CircuitBreaker::default(),
        }
    }

    /// Changes the fields that `update` names, and no others, in one `UpdateItem`: two concurrent
    /// updates both take effect.
    ///
    /// An attempt that timed out may still reach DynamoDB later. A condition prevents it from
    /// undoing a newer update: an update is written only over a lower fence. If there is a higher
    /// one, the update is written again above it, and `mark` has that fence. The stored `updatedAt`
    /// is that of `mark`, also when this fails: an attempt may take effect later.
    ///
    /// # Errors
    /// [`StoreError::ItemTooLarge`] when the item would exceed DynamoDB's limit; otherwise when
    /// DynamoDB fails.
    pub async fn upsert(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        mark: &mut UpdateMark,
        limit: impl Into<TimeLimit>,
    ) -> Result<UpdateResult, StoreError> {
        let (received_at, began, mut backoff) =
            (mark.updated_at(), Instant::now(), Backoff::default());
        let pk = account_id.partition_key(update.customer_id());
        let access = TableAccess::new(&self.breaker, self.breaker.limit_of(&pk, limit.into()));
        loop {
            let written = access
                .call(self.write(Write::whole(account_id, update, *mark)))
                .await;
            if access.repeats(&written).await {
                continue;
            }
            if written
                .as_ref()
                .is_err_and(|error| *error == StoreError::Unavailable(Cause::Throttled))
            {
                self.breaker.remember_throttled(pk.clone());
            }
            let is_created = match written? {
                // Every update changes the fence. Some emulators return only attributes that
                // changed.
                Written::Over(old) => !old.contains_key(FENCE),
                // An attempt has taken effect without a response.
                Written::Refused(Some(item)) if mark.wrote(&item) => {
                    item.get("createdAt") == Some(&string(mark.updated_at().to_string()))
                }
                Written::Refused(item) => {
                    let stored = Fence::of(&item.ok_or(StoreError::Corrupt)?)?;
                    let wait = backoff.next_wait();
                    mark.fence = stored
                        .next()?
                        .max(Fence::at(received_at.plus(began.elapsed() + wait))?);
                    before(access.deadline(), tokio::time::sleep(wait)).await?;
                    continue;
                }
            };
            return Ok(if is_created {
                UpdateResult::Created
            } else {
                UpdateResult::Updated
            });
        }
    }

    /// Writes an update that was deferred with this mark: all of it over an older item; of a newer
    /// item, only the fields whose fences are lower than the update's. Such a write raises the
    /// item's fence above the stored one, to the time `now` of the drain, so that it is the newest
    /// in the stream.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert).
    pub async fn upsert_deferred(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        mark: UpdateMark,
        (now, limit): (Timestamp, TimeLimit),
    ) -> Result<(), StoreError> {
        let access = TableAccess::new(&self.breaker, limit);
        let mut newer: Option<Item> = None;
        loop {
            let mut changes = Vec::new();
            let write = match &newer {
                None => Write::whole(account_id, update, mark),
                Some(item) => {
                    for change in update.changes() {
                        let stored = Fence::get(item, &fence_of(&change.0))?;
                        if stored.is_none_or(|stored| stored < mark.fence) {
                            changes.push(change.clone());
                        }
                    }
                    if changes.is_empty() {
                        return Ok(());
                    }
                    let item_fence = Fence::of(item)?.next()?.max(Fence::at(now)?);
                    let condition = Condition::FieldsAreOlder;
                    Write {
                        changes: &changes,
                        item_fence,
                        condition,
                        ..Write::whole(account_id, update, mark)
                    }
                }
            };
            match access.repeat(|| self.write(write)).await? {
                Written::Over(_) => return Ok(()),
                // Without an item, the customer was erased in between.
                Written::Refused(item) => newer = item,
            }
        }
    }

    /// Changes the same as [`upsert`](Self::upsert), unless the stored customer was updated after
    /// `updated_at`: then it changes nothing and returns `false`.
    ///
    /// An attempt that timed out and reaches DynamoDB later may undo another update with the same
    /// `updated_at`, and no other.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert).
    pub async fn upsert_unless_newer(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        updated_at: Timestamp,
        limit: impl Into<TimeLimit>,
    ) -> Result<bool, StoreError> {
        let mark = UpdateMark::with(Fence::last_of(updated_at)?);
        let write = Write {
            condition: Condition::ItemIsNotNewer,
            ..Write::whole(account_id, update, mark)
        };
        let written = TableAccess::new(&self.breaker, limit)
            .repeat(|| self.write(write))
            .await?;
        Ok(matches!(written, Written::Over(_)))
    }

    async fn write(&self, write: Write<'_>) -> Result<Written, StoreError> {
        // On the heap, as in `before`.
        let error = match Box::pin(write.request(&self.client).table_name(&self.table).send()).await
        {
            Ok(output) => return Ok(Written::Over(output.attributes.unwrap_or_default())),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => Ok(Written::Refused(
                failed.item().filter(|item| !item.is_empty()).cloned(),
            )),
            _ => Err(error.into()),
        }
    }
}

/// When each field of a stored customer was last set or removed, by the name of the field.
///
/// # Errors
/// [`StoreError::Corrupt`] when a fence is malformed.
pub fn times_of_fields(item: &Item) -> Result<BTreeMap<&str, Timestamp>, StoreError> {
    let fences = item
        .keys()
        .filter_map(|name| Some((name, name.strip_prefix(FENCE_PREFIX)?)));
    fences
        .map(|(name, field)| {
            Ok((
                field,
                Fence::get(item, name)?
                    .ok_or(StoreError::Corrupt)?
                    .timestamp(),
            ))
        })
        .collect()
}

/// The attribute with the fence of a field.
fn fence_of(field: &str) -> String {
    [FENCE_PREFIX, field].concat()
}

impl<'a> Write<'a> {
    /// All changes of an update, over an older item.
    fn whole(account_id: &'a AccountId, update: &'a CustomerUpdate<'_>, mark: UpdateMark) -> Self {
        Self {
            account_id,
            customer_id: update.customer_id(),
            changes: update.changes(),
            mark,
            item_fence: mark.fence,
            condition: Condition::ItemIsOlder,
        }
    }

    fn request(self, client: &Client) -> UpdateItemFluentBuilder {
        let Self {
            account_id,
            customer_id,
            changes,
            mark,
            item_fence,
            condition,
        } = self;
        let mut set = String::from(
            "SET accountId = :account, customerId = :customer, fence = :fence, fenceId = :id, updatedAt = :now, \
             createdAt = if_not_exists(createdAt, :now)",
        );
        let mut remove = String::new();
        // Maps of their final size: one that grows hashes its keys again.
        let mut names = HashMap::with_capacity(changes.len().saturating_mul(2));
        let mut values = HashMap::with_capacity(changes.len().saturating_add(6));
        values.insert(":account".to_owned(), string(account_id.as_str()));
        values.insert(":customer".to_owned(), string(customer_id));
        values.insert(":fence".to_owned(), item_fence.attribute());
        values.insert(":id".to_owned(), mark.id_attribute());
        values.insert(
            ":now".to_owned(),
            string(item_fence.timestamp().to_string()),
        );
        if !changes.is_empty() {
            values.insert(":field".to_owned(), mark.fence.attribute());
        }
        for (index, (name, change)) in changes.iter().enumerate() {
            let index = index.to_string();
            let (field, fence, value) = (
                ["#", &index].concat(),
                ["#f", &index].concat(),
                [":", &index].concat(),
            );
            set.extend([", ", &fence, " = :field"]);
            match change {
                Change::Set(json) => {
                    set.extend([", ", &field, " = ", &value]);
                    values.insert(value, attribute_value(*json));
                }
                Change::Remove => {
                    remove.extend([if remove.is_empty() { " REMOVE " } else { ", " }, &field])
                }
            }
            names.insert(field, name.to_string());
            names.insert(fence, fence_of(name));
        }
        let field_is_older =
            |index| format!(" AND (attribute_not_exists(#f{index}) OR #f{index} < :field)");
        let condition = match condition {
            Condition::ItemIsOlder => "attribute_not_exists(fence) OR fence < :fence".to_owned(),
            Condition::ItemIsNotNewer => {
                "attribute_not_exists(fence) OR fence <= :fence".to_owned()
            }
            Condition::FieldsAreOlder => {
                let fields: String = (0..changes.len()).map(field_is_older).collect();
                format!("attribute_exists(pk) AND fence < :fence{fields}")
            }
        };
        client
            .update_item()
            .key("pk", string(account_id.partition_key(customer_id)))
            .update_expression(set + &remove)
            .condition_expression(condition)
            .set_expression_attribute_names((!names.is_empty()).then_some(names))
            .set_expression_attribute_values(Some(values))
            // Only the replaced attributes: enough to see whether the item existed.
            .return_values(ReturnValue::UpdatedOld)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }
}
