//! The fences of the fields of a stored customer: when each field was last set or removed, and which
//! fences may be removed (docs/data-model.md, Customers).

use std::collections::BTreeMap;
use std::time::Duration;

use model::customer::CustomerUpdate;
use model::customer::attributes::{FENCE_PREFIX, GENERATION, TOMBSTONE_VERSION};
use model::timestamp::Timestamp;

use crate::attributes::Item;
use crate::error::StoreError;
use crate::fence::Fence;

/// How long the fence of a removed field is stored. An older update of the field may wait in the
/// overflow queue for 14 days, and then in the dead-letter queue for 14 more; one day is a margin.
pub const REMOVED_FENCE_RETENTION: Duration = Duration::from_hours((14 + 14 + 1) * 24);

/// The most fences that one write removes beside its changes. The condition of a write with 30
/// fields has four operators for each of them, two for each removed fence, and 13 for the item.
/// DynamoDB takes 300 ("Constraints in Amazon DynamoDB" in the developer guide).
const MAX_EXPIRED_FENCES: usize = 80;

/// The attribute with the fence of a field.
pub(super) fn fence_attribute(field: &str) -> String {
    [FENCE_PREFIX, field].concat()
}

/// When each field of a stored customer was last set or removed, by the name of the field.
///
/// # Errors
/// [`StoreError::Corrupt`] when a fence is malformed.
pub fn times_of_fields(item: &Item) -> Result<BTreeMap<&str, Timestamp>, StoreError> {
    let mut times = BTreeMap::new();
    for attribute in item.keys() {
        if let Some(field) = field_of_fence(attribute) {
            let fence = Fence::from_attribute(item, attribute)?.ok_or(StoreError::Corrupt)?;
            times.insert(field, fence.timestamp());
        }
    }
    Ok(times)
}

/// The field whose fence this attribute is; `None` if it is no fence of a field.
fn field_of_fence(attribute: &str) -> Option<&str> {
    if [GENERATION, TOMBSTONE_VERSION].contains(&attribute) {
        return None;
    }
    attribute.strip_prefix(FENCE_PREFIX)
}

/// The fence of a field that was removed long ago.
pub(super) struct ExpiredFence<'i> {
    pub(super) attribute: &'i str,
    pub(super) fence: Fence,
}

/// The fences of an item that are no longer needed: their fields were removed so long ago that no older
/// update of them can still be written.
pub(super) struct ExpiredFences<'i> {
    /// At most [`MAX_EXPIRED_FENCES`].
    pub(super) fences: Vec<ExpiredFence<'i>>,
    /// The highest of these fences and of the fences that were removed before.
    pub(super) tombstone_version: Fence,
}

impl<'i> ExpiredFences<'i> {
    /// The expired fences of `item` at `now`, if there are any. The fences of fields that `update`
    /// changes are not among them.
    pub(super) fn find(
        item: &'i Item,
        update: &CustomerUpdate<'_>,
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        let kept_since = now.minus(REMOVED_FENCE_RETENTION);
        let horizon = Fence::random(kept_since);
        let mut fences = Vec::new();
        let mut tombstone_version = Fence::from_attribute(item, TOMBSTONE_VERSION)?;
        for attribute in item.keys() {
            let Some(field) = field_of_fence(attribute) else {
                continue;
            };
            let is_changed = update.changes().iter().any(|change| change.name == field);
            let is_removed = !item.contains_key(field);
            if !is_removed || is_changed {
                continue;
            }
            let Some(fence) = Fence::from_attribute(item, attribute)? else {
                continue;
            };
            if fence >= horizon {
                continue;
            }
            fences.push(ExpiredFence { attribute, fence });
            tombstone_version = tombstone_version.max(Some(fence));
            if fences.len() == MAX_EXPIRED_FENCES {
                break;
            }
        }
        let removed = tombstone_version.filter(|_| !fences.is_empty());
        Ok(removed.map(|tombstone_version| Self {
            fences,
            tombstone_version,
        }))
    }
}
