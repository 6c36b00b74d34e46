//! The table Customers: one item per customer, with the profile fields under their own names
//! (docs/data-model.md, Customers).
//!
//! Two updates of a customer may reach DynamoDB in any order: an attempt may be late, and a
//! deferred update is. Fences say which is the newer one, of the item and of each field.

mod field_fences;
mod upserted;
mod write;

use std::time::Instant;

use aws::cause::Cause;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use model::account::AccountId;
use model::customer::CustomerUpdate;
use model::timestamp::Timestamp;

use self::field_fences::{ExpiredFences, fence_attribute};
use self::write::{CustomerWrite, FieldWrite, WriteCondition};
use crate::attributes::Item;
use crate::error::StoreError;
use crate::fence::{Fence, UpdateMark};
use crate::retry::{Backoff, repeat};

pub use self::field_fences::{REMOVED_FENCE_RETENTION, times_of_fields};
pub use self::upserted::{UpdateResult, Upserted};

/// The table of the profiles.
#[derive(Clone, Debug)]
pub struct CustomersTable {
    client: Client,
    table: String,
}

/// What an update does with a field that has a higher fence than the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewerField {
    /// It replaces the field. The update has just arrived, so it is newer than all that is stored:
    /// a higher fence comes from a clock that is ahead.
    Replace,
    /// It leaves the field. A deferred update is written some time after it arrived, and a newer
    /// one may have arrived in between.
    Keep,
}

/// An update and when it is written.
#[derive(Clone, Copy, Debug)]
pub struct Upsert<'a> {
    /// The account of the customer.
    pub account_id: &'a AccountId,
    pub update: &'a CustomerUpdate<'a>,
    /// The fence and the id of the update.
    pub mark: UpdateMark,
    /// What the update does with newer fields.
    pub newer_field: NewerField,
    /// When the request arrived, or the drain began.
    pub now: Timestamp,
}

/// Which write an update makes next.
enum NextWrite {
    /// All changes, where the item is older or there is none.
    Whole,
    /// All changes, where there is no item.
    WholeIfMissing,
    /// Field by field, because this item is newer than the update.
    FieldByField(Item),
}

/// What became of a write.
enum WriteOutcome {
    /// It is stored. These are the attributes that it replaced.
    Stored { replaced: Item },
    /// It is not stored, because the table has this item; `None` if the condition requires an item
    /// and the table has none.
    Refused(Option<Item>),
}

impl CustomersTable {
    /// The environment variable that names the table.
    pub const VARIABLE: &str = "CUSTOMERS_TABLE";

    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
        }
    }

    /// Changes the fields that an update names, and no others, in one `UpdateItem`: two concurrent
    /// updates both take effect.
    ///
    /// The update is written whole over an item with a lower fence, or where there is no item. Over
    /// an item with a higher one, it is written field by field. A field with a lower fence than the
    /// update, or with none, gets the update's own. A field with a higher one is left, or is
    /// replaced and gets a fence above the one that it has, as `newer_field` says. The condition of
    /// this write is that the item and each of these fields still have lower fences than they get.
    ///
    /// So neither an attempt that reaches DynamoDB late nor a second delivery of a deferred update
    /// undoes what a newer update set, and a clock that is ahead has an effect on the fields that it
    /// wrote, and on no others.
    ///
    /// # Errors
    /// [`StoreError::ItemTooLarge`] when the item would exceed DynamoDB's limit; otherwise when
    /// DynamoDB fails.
    pub async fn upsert(
        &self,
        upsert: Upsert<'_>,
        deadline: Deadline,
    ) -> Result<Upserted, StoreError> {
        let began = Instant::now();
        let mut backoff = Backoff::default();
        let mut next = NextWrite::Whole;
        loop {
            let write = match &next {
                NextWrite::Whole => upsert.whole(WriteCondition::ItemIsOlder),
                NextWrite::WholeIfMissing => upsert.whole(WriteCondition::ItemIsMissing),
                NextWrite::FieldByField(item) => {
                    let attempted_at = upsert.now.plus(began.elapsed());
                    match upsert.field_by_field(item, attempted_at)? {
                        Some(write) => write,
                        None => return Upserted::unchanged(item),
                    }
                }
            };
            next = match repeat(deadline, || self.write(&write)).await {
                Ok(WriteOutcome::Stored { replaced }) => {
                    return Ok(Upserted::from_replaced(&replaced, write.item_fence));
                }
                // An attempt has taken effect without a response.
                Ok(WriteOutcome::Refused(Some(item))) if upsert.mark.wrote(&item) => {
                    return Upserted::from_lost_attempt(upsert.mark, &item);
                }
                Ok(WriteOutcome::Refused(item)) => {
                    let has_time = backoff.wait(deadline).await;
                    if !has_time {
                        return Err(Cause::DeadlineExceeded.into());
                    }
                    item.map_or(NextWrite::Whole, NextWrite::FieldByField)
                }
                // The fences of fields that were removed long ago may fill the item. The next write
                // requires that there is no item: DynamoDB refuses it and returns the item, so that
                // the write after it can remove these fences.
                Err(StoreError::ItemTooLarge) if matches!(next, NextWrite::Whole) => {
                    NextWrite::WholeIfMissing
                }
                Err(error) => return Err(error),
            };
        }
    }

    /// Writes the changes of an import, unless the stored customer was updated after `updated_at`:
    /// then it changes nothing and returns `false`.
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
        deadline: Deadline,
    ) -> Result<bool, StoreError> {
        let mark = UpdateMark::new_imported(updated_at);
        let write = CustomerWrite::whole(account_id, update, mark, WriteCondition::ItemIsNotNewer);
        let written = repeat(deadline, || self.write(&write)).await?;
        Ok(matches!(written, WriteOutcome::Stored { .. }))
    }

    async fn write(&self, write: &CustomerWrite<'_>) -> Result<WriteOutcome, StoreError> {
        let call = write.request(&self.client).table_name(&self.table).send();
        // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy
        // it.
        let error = match Box::pin(call).await {
            Ok(output) => {
                let replaced = output.attributes.unwrap_or_default();
                return Ok(WriteOutcome::Stored { replaced });
            }
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                let stored = failed.item().filter(|item| !item.is_empty());
                Ok(WriteOutcome::Refused(stored.cloned()))
            }
            _ => Err(error.into()),
        }
    }
}

impl<'a> Upsert<'a> {
    /// The write of all changes.
    fn whole(&self, condition: WriteCondition) -> CustomerWrite<'a> {
        CustomerWrite::whole(self.account_id, self.update, self.mark, condition)
    }

    /// The write field by field over an item that is newer than the update; `None` if the
    /// update leaves every field as it is.
    ///
    /// The item's fence goes above the stored one, to the time of this attempt if that is higher,
    /// so that what reads the stream sees the change as the newest.
    fn field_by_field(
        &self,
        item: &'a Item,
        attempted_at: Timestamp,
    ) -> Result<Option<CustomerWrite<'a>>, StoreError> {
        let mut fields = Vec::new();
        for change in self.update.changes() {
            let stored = Fence::from_attribute(item, &fence_attribute(&change.name))?;
            let fence = match stored {
                Some(stored) if stored >= self.mark.fence => match self.newer_field {
                    NewerField::Keep => continue,
                    NewerField::Replace => stored.next_at(attempted_at)?,
                },
                _ => self.mark.fence,
            };
            fields.push(FieldWrite { change, fence });
        }
        if fields.is_empty() && self.newer_field == NewerField::Keep {
            return Ok(None);
        }
        let above_stored = Fence::from_item(item)?.next_at(attempted_at)?;
        // No field has a higher fence than its item.
        let item_fence = fields
            .iter()
            .map(|field| field.fence)
            .fold(above_stored, Fence::max);
        Ok(Some(CustomerWrite {
            account_id: self.account_id,
            customer_id: self.update.customer_id(),
            fields,
            mark: self.mark,
            item_fence,
            expired: Some(ExpiredFences::find(item, self.update, attempted_at)?),
            condition: WriteCondition::FieldsAreOlder,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::customer::FENCE;
    use model::json::JsonText;

    use super::*;

    #[test]
    fn no_field_gets_a_higher_fence_than_its_item() {
        let account_id = "shop".parse().unwrap();
        let body = JsonText::parse(r#"{"customerId":"c","customerData":{"city":"Rome"}}"#);
        let update = CustomerUpdate::parse(body.unwrap()).unwrap();
        let now: Timestamp = "2026-11-20T22:33:44.123Z".parse().unwrap();
        let upsert = Upsert {
            account_id: &account_id,
            update: &update,
            mark: UpdateMark::new(now),
            newer_field: NewerField::Replace,
            now,
        };
        // A process whose clock is ahead wrote the field last.
        let ahead = Fence::random(now.plus(Duration::from_mins(1))).attribute();
        let item = Item::from([
            (FENCE.to_owned(), ahead.clone()),
            (fence_attribute("city"), ahead),
        ]);
        // The steps above the stored fences are random.
        for _ in 0..100 {
            let write = upsert.field_by_field(&item, now).unwrap().unwrap();
            for field in &write.fields {
                assert!(field.fence <= write.item_fence);
            }
        }
    }
}
