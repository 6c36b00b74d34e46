//! The fences of the fields of a stored customer: when each field was last set or removed, and which
//! fences may be removed (docs/data-model.md, Customers).

use std::collections::BTreeMap;
use std::time::Duration;

use model::customer::{CustomerUpdate, FENCE_PREFIX};
use model::timestamp::Timestamp;

use crate::attributes::Item;
use crate::error::StoreError;
use crate::fence::Fence;

/// How long the fence of a removed field is kept. An older update of the field may wait in the
/// overflow queue for 14 days, and then in the dead-letter queue for 14 more; one day is a margin.
pub const REMOVED_FENCE_RETENTION: Duration = Duration::from_hours((14 + 14 + 1) * 24);

/// The most fences that one write removes beside its changes. The condition of a write with 30
/// fields has four operators for each of them and two for each removed fence, and DynamoDB takes
/// 300 ("Constraints in Amazon DynamoDB" in the developer guide).
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
        if let Some(field) = attribute.strip_prefix(FENCE_PREFIX) {
            let fence = Fence::from_attribute(item, attribute)?.ok_or(StoreError::Corrupt)?;
            times.insert(field, fence.timestamp());
        }
    }
    Ok(times)
}

/// The fences of an item that are of no use any more: their fields were removed so long ago that no
/// older update of them can still be written.
pub(super) struct ExpiredFences<'i> {
    /// Their attributes, at most [`MAX_EXPIRED_FENCES`].
    pub(super) attributes: Vec<&'i str>,
    /// Each of these fences is lower than this one.
    pub(super) horizon: Fence,
}

impl<'i> ExpiredFences<'i> {
    /// The expired fences of `item` at `now`. The fences of fields that `update` changes are not
    /// among them.
    pub(super) fn find(
        item: &'i Item,
        update: &CustomerUpdate<'_>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let kept_since = now.minus(REMOVED_FENCE_RETENTION);
        let horizon = Fence::random(kept_since);
        let mut attributes = Vec::new();
        for attribute in item.keys() {
            let Some(field) = attribute.strip_prefix(FENCE_PREFIX) else {
                continue;
            };
            let is_changed = update.changes().iter().any(|change| change.name == field);
            let is_removed = !item.contains_key(field);
            let is_old =
                Fence::from_attribute(item, attribute)?.is_some_and(|fence| fence < horizon);
            if is_removed && is_old && !is_changed && attributes.len() < MAX_EXPIRED_FENCES {
                attributes.push(attribute.as_str());
            }
        }
        Ok(Self {
            attributes,
            horizon,
        })
    }
}
