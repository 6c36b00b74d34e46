//! The table Customers: one item per customer, with the profile fields under their own names
//! (docs/data-model.md, Customers).
//!
//! Two updates of a customer may reach DynamoDB in any order: an attempt may be late, and a deferred
//! update or a line of an import always is. Fences say which update of the item, and of each field, is
//! newer.

mod field_by_field;
mod field_fences;
mod upserted;
mod write;

use aws::call_error::CallError;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use model::account::AccountId;
use model::customer::CustomerUpdate;
use model::timestamp::Timestamp;
use tokio::time::Instant;

use self::field_by_field::FieldByField;
use self::write::{CustomerWrite, WriteCondition};
use crate::attributes::{Item, string};
use crate::error::StoreError;
use crate::fence::{Fence, UpdateMark};
use crate::retry::{Backoff, repeat};

pub use self::field_fences::{REMOVED_FENCE_RETENTION, times_of_fields};
pub use self::upserted::{StoredPart, Upserted};

/// The table of the profiles.
#[derive(Clone, Debug)]
pub struct CustomersTable {
    client: Client,
    table: String,
}

/// What an update does with a field that has a higher fence than the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewerField {
    /// It replaces the field. The client still waits for the response: the higher fence comes from a
    /// clock that is ahead, or from an overlapping update, and then either may win.
    Replace,
    /// It leaves the field. A deferred update, and a line of an import, are written some time after
    /// they arrived, and a newer update may have arrived in between. A field with the same fence is
    /// replaced: a later line of an import may have the same time.
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
    /// When the request arrived, or the drain or the import of the line began.
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

/// The outcome of a write.
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
    /// If there is no item, or the item has a lower fence, the update is written whole. If the item is newer,
    /// the update is applied per field:
    ///
    /// - A field with a lower fence than the update, or with none, is changed and gets the update's fence.
    /// - A newer field is replaced and gets a fence above its own ([`NewerField::Replace`]), or stays
    ///   ([`NewerField::Keep`]).
    /// - With `Keep`, a field that has neither a value nor a fence also stays, unless the tombstone version
    ///   is lower than the update's fence. A field with the update's fence and another value is replaced.
    ///
    /// The condition of the second write: the item is of the generation that was read, and the item and each
    /// changed field still have lower fences than they get, or with `Keep` the same.
    ///
    /// So neither an attempt that reaches DynamoDB late nor a second delivery of a deferred update undoes
    /// what a newer update set. A clock that is ahead affects only the fields that it wrote. There is one
    /// exception: a whole write that reaches DynamoDB after the customer was erased and created anew, with a
    /// higher fence than the new item.
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
        // A deferred update or an import does not delete these fences: each deleted fence raises the tombstone
        // version for older updates.
        let mut removes_expired = upsert.newer_field == NewerField::Replace;
        loop {
            let mut stored_part = StoredPart::Whole;
            let write = match &next {
                NextWrite::Whole => upsert.whole(WriteCondition::ItemIsOlder),
                NextWrite::WholeIfMissing => upsert.whole(WriteCondition::ItemIsMissing),
                NextWrite::FieldByField(item) => {
                    let attempted_at = upsert.now.plus(began.elapsed());
                    let fields = FieldByField::compare(&upsert, item, attempted_at)?;
                    stored_part = fields.stored_part();
                    if matches!(stored_part, StoredPart::AsWritten | StoredPart::Newer) {
                        return Upserted::unchanged(item, stored_part);
                    }
                    fields.into_write(removes_expired)?
                }
            };
            next = match repeat(deadline, || self.write(&write)).await {
                Ok(WriteOutcome::Stored { replaced }) => {
                    let item_fence = write.item_fence;
                    return Ok(Upserted::from_replaced(&replaced, item_fence, stored_part));
                }
                // An attempt has taken effect without a response.
                Ok(WriteOutcome::Refused(Some(item))) if upsert.mark.wrote(&item) => {
                    return Upserted::from_lost_attempt(&upsert, &item);
                }
                Ok(WriteOutcome::Refused(item)) => {
                    let has_time = backoff.wait(deadline).await;
                    if !has_time {
                        return Err(CallError::DeadlineExceeded.into());
                    }
                    item.map_or(NextWrite::Whole, NextWrite::FieldByField)
                }
                // The fences of fields that were removed long ago may fill the item. The next write
                // requires that there is no item: DynamoDB refuses it and returns the item, so that
                // the write after it can remove these fences.
                Err(StoreError::ItemTooLarge) if matches!(next, NextWrite::Whole) => {
                    removes_expired = true;
                    NextWrite::WholeIfMissing
                }
                Err(StoreError::ItemTooLarge) if !removes_expired => {
                    removes_expired = true;
                    next
                }
                Err(error) => return Err(error),
            };
        }
    }

    /// How much of an update [`upsert`](Self::upsert) would store now. It reads the item, and writes
    /// nothing.
    ///
    /// # Errors
    /// DynamoDB fails, or the item is not as Intake writes it.
    pub async fn preview(
        &self,
        upsert: Upsert<'_>,
        deadline: Deadline,
    ) -> Result<StoredPart, StoreError> {
        let key = upsert.account_id.partition_key(upsert.update.customer_id());
        let read = || async {
            let call = self
                .client
                .get_item()
                .table_name(&self.table)
                .key("pk", string(key.clone()))
                .consistent_read(true);
            Ok(call.send().await?.item)
        };
        let Some(item) = repeat(deadline, read).await? else {
            return Ok(StoredPart::Whole);
        };
        if Fence::from_item(&item)? < upsert.mark.fence {
            return Ok(StoredPart::Whole);
        }
        let compared = FieldByField::compare(&upsert, &item, upsert.now)?;
        Ok(compared.stored_part())
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
    fn whole(&self, condition: WriteCondition<'a>) -> CustomerWrite<'a> {
        CustomerWrite::whole(self.account_id, self.update, self.mark, condition)
    }
}
