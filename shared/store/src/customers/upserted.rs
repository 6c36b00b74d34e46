//! What an update of a customer stored: whether the customer is new, when it was updated, and how much
//! of the update is stored.

use model::customer::attributes::FENCE;
use model::timestamp::Timestamp;

use super::field_fences::fence_attribute;
use super::{NewerField, Upsert};
use crate::attributes::{Item, string};
use crate::error::StoreError;
use crate::fence::Fence;

/// How much of an update is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredPart {
    /// Each field is now as the update says.
    Whole,
    /// Some fields are; the others are newer.
    Some,
    /// Nothing was written: each field is as the update says already.
    AsWritten,
    /// Nothing was written: a field is newer, and each other one is newer or as the update says
    /// already.
    Newer,
}

/// What an update stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upserted {
    /// Whether the customer is new.
    pub is_new: bool,
    /// The `updatedAt` of the item.
    pub updated_at: Timestamp,
    /// How much of the update is stored.
    pub part: StoredPart,
}

impl Upserted {
    /// The result of a write that gave the item this fence and replaced these attributes.
    pub(super) fn from_replaced(replaced: &Item, item_fence: Fence, part: StoredPart) -> Self {
        Self {
            // Every update changes the fence. Some emulators return only attributes that changed.
            is_new: !replaced.contains_key(FENCE),
            updated_at: item_fence.timestamp(),
            part,
        }
    }

    /// The result of an update that changes nothing, because all of its fields are newer in the
    /// item, or as it says already.
    pub(super) fn unchanged(item: &Item, part: StoredPart) -> Result<Self, StoreError> {
        Ok(Self {
            is_new: false,
            updated_at: Fence::from_item(item)?.timestamp(),
            part,
        })
    }

    /// The result of an update whose earlier attempt took effect without a response.
    pub(super) fn from_lost_attempt(upsert: &Upsert<'_>, item: &Item) -> Result<Self, StoreError> {
        let mark = upsert.mark;
        let fence = Fence::from_item(item)?;
        let created_at = string(mark.updated_at().to_string());
        Ok(Self {
            is_new: fence == mark.fence && item.get("createdAt") == Some(&created_at),
            updated_at: fence.timestamp(),
            part: part_of_lost_attempt(upsert, item)?,
        })
    }
}

/// How much of an update is in the item that it wrote last: each field that it did not leave has its
/// fence.
fn part_of_lost_attempt(upsert: &Upsert<'_>, item: &Item) -> Result<StoredPart, StoreError> {
    if upsert.newer_field == NewerField::Replace {
        return Ok(StoredPart::Whole);
    }
    for change in upsert.update.changes() {
        let stored = Fence::from_attribute(item, &fence_attribute(&change.name))?;
        if stored != Some(upsert.mark.fence) {
            return Ok(StoredPart::Some);
        }
    }
    Ok(StoredPart::Whole)
}

#[cfg(test)]
mod tests {
    use model::customer::CustomerUpdate;
    use model::json::JsonText;

    use super::*;
    use crate::fence::UpdateMark;

    #[test]
    fn part_of_a_lost_attempt_is_whole_when_each_field_has_its_fence() {
        let account_id = "shop".parse().unwrap();
        let body = r#"{"customerId":"c","customerData":{"city":"Rome","zip":"00118"}}"#;
        let update = CustomerUpdate::parse(JsonText::parse(body).unwrap()).unwrap();
        let now: Timestamp = "2026-11-20T22:33:44.123Z".parse().unwrap();
        let upsert = Upsert {
            account_id: &account_id,
            update: &update,
            mark: UpdateMark::new(now),
            newer_field: NewerField::Keep,
            now,
        };
        let own = upsert.mark.fence.attribute();
        let other = UpdateMark::new(now).fence.attribute();
        for (fence_of_zip, part) in [
            (Some(own.clone()), StoredPart::Whole),
            (Some(other), StoredPart::Some),
            (None, StoredPart::Some),
        ] {
            let mut item = Item::from([(fence_attribute("city"), own.clone())]);
            item.extend(fence_of_zip.map(|fence| (fence_attribute("zip"), fence)));
            assert_eq!(part_of_lost_attempt(&upsert, &item), Ok(part));
        }
    }
}
