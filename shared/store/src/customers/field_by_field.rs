//! The write of an update over an item with a higher fence: which fields it changes, and which fences
//! these get. Must not know which write an update makes first.

use aws_sdk_dynamodb::types::AttributeValue;
use model::customer::attributes::{GENERATION, TOMBSTONE_VERSION};
use model::customer::{Change, FieldChange};
use model::timestamp::Timestamp;

use super::field_fences::{ExpiredFences, fence_attribute};
use super::write::{CustomerWrite, EqualFence, FieldWrite, ReadItem, WriteCondition};
use super::{NewerField, StoredPart, Upsert};
use crate::attributes::{Item, attribute_value};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::same_value::is_same_value;

/// An update, compared with an item field by field.
pub(super) struct FieldByField<'a> {
    upsert: &'a Upsert<'a>,
    item: &'a Item,
    generation: &'a AttributeValue,
    attempted_at: Timestamp,
    /// The fields that it changes.
    fields: Vec<FieldWrite<'a>>,
    /// Whether it leaves a field, because the field is newer.
    leaves_newer_field: bool,
    /// Whether it sets a field that has neither value nor fence, and must not if the tombstone version rises.
    sets_new_field: bool,
}

/// What an update does with a field.
enum FieldDecision {
    /// It changes the field, which gets this fence.
    Change(Fence),
    /// The field is newer.
    Leave,
    /// The field has the fence and the value of the update already.
    IsAsWritten,
}

impl<'a> FieldByField<'a> {
    /// Compares each change of an update with the item.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the item has no generation, or a malformed fence.
    pub(super) fn compare(
        upsert: &'a Upsert<'a>,
        item: &'a Item,
        attempted_at: Timestamp,
    ) -> Result<Self, StoreError> {
        let generation = item.get(GENERATION).ok_or(StoreError::Corrupt)?;
        let mut compared = Self {
            upsert,
            item,
            generation,
            attempted_at,
            fields: Vec::new(),
            leaves_newer_field: false,
            sets_new_field: false,
        };
        for change in upsert.update.changes() {
            match compared.decide(change)? {
                FieldDecision::Change(fence) => {
                    compared.fields.push(FieldWrite { change, fence });
                }
                FieldDecision::Leave => compared.leaves_newer_field = true,
                FieldDecision::IsAsWritten => {}
            }
        }
        Ok(compared)
    }

    fn decide(&mut self, change: &FieldChange<'_>) -> Result<FieldDecision, StoreError> {
        let own = self.upsert.mark.fence;
        let stored = Fence::from_attribute(self.item, &fence_attribute(&change.name))?;
        let Some(stored) = stored else {
            return self.decide_without_fence(change);
        };
        let decision = match self.upsert.newer_field {
            NewerField::Replace if stored >= own => {
                FieldDecision::Change(stored.next_at(self.attempted_at)?)
            }
            NewerField::Keep if stored > own => FieldDecision::Leave,
            NewerField::Keep if stored == own && self.has_value_of(change) => {
                FieldDecision::IsAsWritten
            }
            NewerField::Replace | NewerField::Keep => FieldDecision::Change(own),
        };
        Ok(decision)
    }

    /// A field without fence and value may have been removed by an update whose fence has expired.
    /// The tombstone version says how new that update may have been.
    fn decide_without_fence(
        &mut self,
        change: &FieldChange<'_>,
    ) -> Result<FieldDecision, StoreError> {
        let own = self.upsert.mark.fence;
        let is_new = !self.item.contains_key(change.name.as_ref());
        if is_new && self.upsert.newer_field == NewerField::Keep {
            let tombstone_version = Fence::from_attribute(self.item, TOMBSTONE_VERSION)?;
            if tombstone_version.is_some_and(|tombstone_version| tombstone_version >= own) {
                return Ok(FieldDecision::Leave);
            }
            self.sets_new_field = true;
        }
        Ok(FieldDecision::Change(own))
    }

    fn has_value_of(&self, change: &FieldChange<'_>) -> bool {
        let stored = self.item.get(change.name.as_ref());
        match (&change.change, stored) {
            (Change::Set(json), Some(stored)) => is_same_value(&attribute_value(*json), stored),
            (Change::Remove, None) => true,
            (Change::Set(_), None) | (Change::Remove, Some(_)) => false,
        }
    }

    /// What is stored of the update by the write that follows.
    pub(super) fn stored_part(&self) -> StoredPart {
        let writes_nothing = self.upsert.newer_field == NewerField::Keep && self.fields.is_empty();
        match (writes_nothing, self.leaves_newer_field) {
            (true, true) => StoredPart::Newer,
            (true, false) => StoredPart::AsWritten,
            (false, true) => StoredPart::Some,
            (false, false) => StoredPart::Whole,
        }
    }

    /// The write of these changes.
    ///
    /// The item's fence goes above the stored one, to the time of this attempt if that is higher,
    /// so that what reads the stream sees the change as the newest.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the item has no fence, or a malformed one.
    pub(super) fn into_write(self, removes_expired: bool) -> Result<CustomerWrite<'a>, StoreError> {
        let above_stored = Fence::from_item(self.item)?.next_at(self.attempted_at)?;
        // No field has a higher fence than its item.
        let item_fence = self
            .fields
            .iter()
            .map(|field| field.fence)
            .fold(above_stored, Fence::max);
        let expired = if removes_expired {
            ExpiredFences::find(self.item, self.upsert.update, self.attempted_at)?
        } else {
            None
        };
        let equal_fence = match self.upsert.newer_field {
            NewerField::Replace => EqualFence::IsNewer,
            NewerField::Keep => EqualFence::IsReplaced,
        };
        Ok(CustomerWrite {
            account_id: self.upsert.account_id,
            customer_id: self.upsert.update.customer_id(),
            fields: self.fields,
            mark: self.upsert.mark,
            item_fence,
            condition: WriteCondition::FieldsAreOlder(ReadItem {
                generation: self.generation,
                equal_fence,
                sets_new_field: self.sets_new_field,
                expired,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::customer::CustomerUpdate;
    use model::customer::attributes::FENCE;
    use model::json::JsonText;

    use super::*;
    use crate::attributes::number;
    use crate::fence::UpdateMark;

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
            (GENERATION.to_owned(), number(1)),
            (fence_attribute("city"), ahead),
        ]);
        // The steps above the stored fences are random.
        for _ in 0..100 {
            let compared = FieldByField::compare(&upsert, &item, now).unwrap();
            let write = compared.into_write(true).unwrap();
            for field in &write.fields {
                assert!(field.fence <= write.item_fence);
            }
        }
    }
}
