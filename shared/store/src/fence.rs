//! Fences: which of two updates of a customer is the newer one.
//!
//! A fence is a number that grows with each update: the milliseconds since 1970, and a random part
//! that tells updates of the same millisecond apart. The item of a customer has the fence of its
//! last write, and one for each field that was ever set or removed. An attempt that reaches
//! DynamoDB late meets a higher fence, and is refused.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use model::customer::attributes::{FENCE, FENCE_ID};
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

use crate::attributes::Item;
use crate::error::StoreError;

/// How many fences one millisecond has.
const PER_MILLISECOND: u64 = 1 << 20;

/// The largest step above a stored fence: about a microsecond. Concurrent updates seldom take the same
/// step, and `updatedAt` does not run ahead of the clock.
const MAX_STEP: u64 = 1 << 10;

/// A fence: its bits above the lowest 20 are milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fence(u64);

impl Fence {
    /// A random fence of the millisecond of `time`, which is before the year 2500.
    pub(crate) fn random(time: Timestamp) -> Self {
        Self::from_parts(time, fastrand::u64(..PER_MILLISECOND))
    }

    /// The highest fence of the millisecond of `time`, which is before the year 2500.
    fn highest(time: Timestamp) -> Self {
        Self::from_parts(time, PER_MILLISECOND - 1)
    }

    fn from_parts(time: Timestamp, part: u64) -> Self {
        let first = time.millis().checked_mul(PER_MILLISECOND);
        let fence = first.and_then(|first| first.checked_add(part));
        Self(fence.expect("no clock, and no import, has a time after the year 2500"))
    }

    /// The fence in the attribute `name` of a stored customer; `None` if it has no such attribute.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the attribute is not a fence.
    pub(crate) fn from_attribute(item: &Item, name: &str) -> Result<Option<Self>, StoreError> {
        let Some(value) = item.get(name) else {
            return Ok(None);
        };
        let number = value.as_n().map_err(|_| StoreError::Corrupt)?;
        let fence = number.parse().map_err(|_| StoreError::Corrupt)?;
        Ok(Some(Self(fence)))
    }

    /// The fence of a stored customer.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it has none.
    pub(crate) fn from_item(item: &Item) -> Result<Self, StoreError> {
        Self::from_attribute(item, FENCE)?.ok_or(StoreError::Corrupt)
    }

    /// A fence above this one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when there is none.
    pub(crate) fn next(self) -> Result<Self, StoreError> {
        self.0
            .checked_add(fastrand::u64(1..=MAX_STEP))
            .map(Self)
            .ok_or(StoreError::Corrupt)
    }

    /// A fence above this one, and not below the time of an attempt.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub(crate) fn next_at(self, attempted_at: Timestamp) -> Result<Self, StoreError> {
        Ok(self.next()?.max(Self::random(attempted_at)))
    }

    pub(crate) fn timestamp(self) -> Timestamp {
        Timestamp::from_millis(self.0 / PER_MILLISECOND)
    }

    pub(crate) fn attribute(self) -> AttributeValue {
        AttributeValue::N(self.0.to_string())
    }
}

/// What marks the writes of one update: its fence, and 16 random bytes by which it knows an attempt
/// of its own that took effect without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateMark {
    pub(crate) fence: Fence,
    id: Uuid,
}

impl UpdateMark {
    /// The mark of a new update, which was received at `time`.
    pub fn new(time: Timestamp) -> Self {
        Self::from_fence(Fence::random(time))
    }

    /// The mark of an imported update of this time, which is newer than every other of its
    /// millisecond. Each import of the same line has the same fence.
    pub fn new_imported(time: Timestamp) -> Self {
        Self::from_fence(Fence::highest(time))
    }

    fn from_fence(fence: Fence) -> Self {
        Self {
            fence,
            id: Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes()).into_uuid(),
        }
    }

    /// The `updatedAt` that the update stores.
    pub fn updated_at(self) -> Timestamp {
        self.fence.timestamp()
    }

    /// Whether this update was the last to write the item.
    pub(crate) fn wrote(self, item: &Item) -> bool {
        item.get(FENCE_ID) == Some(&self.id_attribute())
    }

    pub(crate) fn id_attribute(self) -> AttributeValue {
        AttributeValue::B(Blob::new(self.id.into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_123);

    #[test]
    fn fence_has_its_millisecond_and_the_next_one_is_above_it() {
        let later = Timestamp::from_millis(NOW.millis() + 1);
        for _ in 0..1000 {
            let fence = Fence::random(NOW);
            assert_eq!(fence.timestamp(), NOW);
            assert!(fence <= Fence::highest(NOW));
            assert!(fence.next().unwrap() > fence);
            assert_eq!(fence.next_at(later).unwrap().timestamp(), later);
        }
        assert!(Fence::highest(NOW) < Fence::random(later));
    }

    #[test]
    fn fence_above_the_highest_is_an_error() {
        assert_eq!(Fence(u64::MAX).next(), Err(StoreError::Corrupt));
    }
}
