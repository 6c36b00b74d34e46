//! The progress of a bulk write: what became of each item, and which items the next calls put. This module
//! must not know how a call is made.

use std::collections::VecDeque;

use aws::call_error::CallError;

use super::call_limit::FEW_CALLS;
use super::chunk::{CHUNK_ITEMS, ChunkSize, QueuedItem, next_chunk};
use super::{BulkItem, ItemOutcome};
use crate::error::StoreError;

/// An item that is not known to be stored, and its position among the items of the request.
#[derive(Clone, Copy)]
pub(super) struct PendingItem<I> {
    pub(super) position: usize,
    pub(super) item: I,
    /// The most items in the next call that puts it.
    pub(super) most_together: usize,
}

impl<I> PendingItem<I> {
    pub(super) fn refused(&self, error: StoreError) -> RefusedItem {
        RefusedItem {
            position: self.position,
            error,
        }
    }
}

/// The position of an item that was refused for good, and the reason.
pub(super) struct RefusedItem {
    position: usize,
    error: StoreError,
}

/// What a call did not store of its items.
pub(super) struct CallResult<I> {
    pub(super) pending: Vec<PendingItem<I>>,
    pub(super) refused: Vec<RefusedItem>,
    /// The items of a call that was refused: the next calls find out which of them is invalid.
    pub(super) halved: Vec<PendingItem<I>>,
    /// Why items are pending. It is also `None` when DynamoDB left a part of them unprocessed.
    pub(super) error: Option<StoreError>,
}

impl<I> CallResult<I> {
    /// The result of a call that stored all of its items.
    pub(super) fn all_stored() -> Self {
        Self {
            pending: Vec::new(),
            refused: Vec::new(),
            halved: Vec::new(),
            error: None,
        }
    }
}

/// How far the items of a request are stored.
pub(super) struct WriteProgress<I> {
    outcomes: ItemOutcomes,
    /// The pending items for the next calls.
    queue: VecDeque<PendingItem<I>>,
    /// The pending items of calls that did not store them: they wait until the calls under way have
    /// ended.
    postponed: Vec<PendingItem<I>>,
    /// Why no further call is made until then.
    error: Option<StoreError>,
    /// The most calls at the same time.
    max_calls: usize,
}

impl<I: BulkItem> WriteProgress<I> {
    pub(super) fn new(items: Vec<I>) -> Self {
        let pending = |(position, item)| PendingItem {
            position,
            item,
            most_together: CHUNK_ITEMS,
        };
        Self {
            outcomes: ItemOutcomes::all_stored(items.len()),
            queue: items.into_iter().enumerate().map(pending).collect(),
            postponed: Vec::new(),
            error: None,
            max_calls: usize::MAX,
        }
    }

    /// How many items the next call has, if one is to be made beside the `calls` that are under way.
    pub(super) fn next_chunk(&self, calls: usize) -> Option<ChunkSize> {
        if self.error.is_some() || calls >= self.max_calls {
            return None;
        }
        next_chunk(self.queue.iter().map(|pending| QueuedItem {
            bytes: pending.item.text_bytes(),
            most_together: pending.most_together,
        }))
    }

    /// Takes the items of a call.
    pub(super) fn take(&mut self, size: ChunkSize) -> Vec<PendingItem<I>> {
        self.queue.drain(..size.items).collect()
    }

    /// Adds what a call did not store.
    pub(super) fn add(&mut self, result: CallResult<I>) {
        if !result.pending.is_empty() {
            self.max_calls = FEW_CALLS;
        }
        self.postponed.extend(result.pending);
        self.queue.extend(result.halved);
        for refused in result.refused {
            let outcome = ItemOutcome::Refused(refused.error);
            self.outcomes.set(refused.position, outcome);
        }
        // A lasting error replaces a transient one, because no retry mends it.
        if self.error.as_ref().is_none_or(StoreError::is_transient) {
            self.error = result.error.or(self.error.take());
        }
    }

    /// Why items are pending when no call is under way. `None` if none are.
    pub(super) fn why_pending(&self) -> Option<StoreError> {
        let is_pending = !self.queue.is_empty() || !self.postponed.is_empty();
        is_pending.then(|| self.error.clone().unwrap_or(CallError::Throttled.into()))
    }

    /// Gives the postponed items to the next calls, after the items that no call had.
    pub(super) fn retry_postponed(&mut self) {
        self.queue.extend(self.postponed.drain(..));
        self.error = None;
    }

    /// The outcome of each item, when none is pending.
    pub(super) fn into_outcomes(self) -> Vec<ItemOutcome> {
        self.outcomes.0
    }

    /// The outcome of each item. The pending ones are unstored.
    pub(super) fn abandon(mut self, reason: &StoreError) -> Vec<ItemOutcome> {
        for pending in self.queue.iter().chain(&self.postponed) {
            let outcome = ItemOutcome::Unstored(reason.clone());
            self.outcomes.set(pending.position, outcome);
        }
        self.outcomes.0
    }
}

/// The outcome of each item of a request, by its position.
struct ItemOutcomes(Vec<ItemOutcome>);

impl ItemOutcomes {
    /// Every item counts as stored until a call says otherwise.
    fn all_stored(items: usize) -> Self {
        Self(vec![ItemOutcome::Stored; items])
    }

    fn set(&mut self, position: usize, outcome: ItemOutcome) {
        let entry = self.0.get_mut(position);
        *entry.expect("each item has an outcome") = outcome;
    }
}
