//! What an update of a customer stored: whether the customer is new, and when it was updated.

use model::customer::FENCE;
use model::timestamp::Timestamp;

use crate::attributes::{Item, string};
use crate::error::StoreError;
use crate::fence::{Fence, UpdateMark};

/// The result of an update that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateResult {
    /// The customer is new.
    Created,
    /// The customer existed before.
    Updated,
}

/// What an update stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upserted {
    /// Whether the customer is new.
    pub result: UpdateResult,
    /// The `updatedAt` of the item.
    pub updated_at: Timestamp,
}

impl Upserted {
    /// The result of a write that gave the item this fence and replaced these attributes.
    pub(super) fn from_replaced(replaced: &Item, item_fence: Fence) -> Self {
        // Every update changes the fence. Some emulators return only attributes that changed.
        let result = if replaced.contains_key(FENCE) {
            UpdateResult::Updated
        } else {
            UpdateResult::Created
        };
        Self {
            result,
            updated_at: item_fence.timestamp(),
        }
    }

    /// The result of an update that changes nothing, because all of its fields are newer in the
    /// item.
    pub(super) fn unchanged(item: &Item) -> Result<Self, StoreError> {
        Ok(Self {
            result: UpdateResult::Updated,
            updated_at: Fence::from_item(item)?.timestamp(),
        })
    }

    /// The result of an update of which an earlier attempt took effect without a response.
    pub(super) fn from_lost_attempt(mark: UpdateMark, item: &Item) -> Result<Self, StoreError> {
        let fence = Fence::from_item(item)?;
        let created_at = string(mark.updated_at().to_string());
        let is_created = fence == mark.fence && item.get("createdAt") == Some(&created_at);
        Ok(Self {
            result: if is_created {
                UpdateResult::Created
            } else {
                UpdateResult::Updated
            },
            updated_at: fence.timestamp(),
        })
    }
}
