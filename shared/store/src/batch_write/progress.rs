//! How far the items of a batch write are stored: what became of each, and which ones the next calls
//! put. This module must not know how a call is made.

use std::collections::VecDeque;

use aws::cause::Cause;

use super::call_limit::FEW_CALLS;
use super::chunk::{Chunk, chunks};
use super::{BatchItem, ItemOutcome};
use crate::error::StoreError;

/// An item that is not known to be stored, and its position among the items of the request.
#[derive(Clone, Copy)]
pub(super) struct PendingItem<I> {
    pub(super) position: usize,
    pub(super) item: I,
}

/// What a call did not store of its items.
pub(super) struct CallResult<I> {
    pub(super) pending: Vec<PendingItem<I>>,
    /// The positions of the items that DynamoDB found invalid.
    pub(super) invalid: Vec<usize>,
    /// Why items are pending. It is also `None` when DynamoDB left a part of them unprocessed.
    pub(super) error: Option<StoreError>,
}

impl<I> CallResult<I> {
    /// The result of a call that stored all of its items.
    pub(super) fn all_stored() -> Self {
        Self {
            pending: Vec::new(),
            invalid: Vec::new(),
            error: None,
        }
    }
}

/// How far the items of a request are stored. Its calls are made in rounds: each round puts the
/// items that the round before it did not store.
pub(super) struct WriteProgress<I> {
    outcomes: ItemOutcomes,
    /// The pending items that no call of this round has yet.
    chunks: VecDeque<Chunk<PendingItem<I>>>,
    /// The items that the calls of this round did not store.
    for_next_round: Vec<PendingItem<I>>,
    /// Why no further call is made in this round.
    error: Option<StoreError>,
    /// The most calls at the same time.
    max_calls: usize,
}

impl<I: BatchItem> WriteProgress<I> {
    pub(super) fn new(items: Vec<I>) -> Self {
        Self {
            outcomes: ItemOutcomes::all_stored(items.len()),
            chunks: into_chunks(numbered(items)),
            for_next_round: Vec::new(),
            error: None,
            max_calls: usize::MAX,
        }
    }

    /// Takes the items of the next call of this round, if one is to be made beside the `calls` that
    /// are under way.
    pub(super) fn next_chunk(&mut self, calls: usize) -> Option<Chunk<PendingItem<I>>> {
        if self.error.is_some() || calls >= self.max_calls {
            return None;
        }
        self.chunks.pop_front()
    }

    /// Puts back a chunk that got no call.
    pub(super) fn put_back(&mut self, chunk: Chunk<PendingItem<I>>) {
        self.chunks.push_front(chunk);
    }

    /// Has this round make no further call.
    pub(super) fn end_round(&mut self, error: StoreError) {
        self.error = Some(error);
    }

    /// Adds what a call did not store.
    pub(super) fn add(&mut self, result: CallResult<I>) {
        if !result.pending.is_empty() {
            self.max_calls = FEW_CALLS;
        }
        self.for_next_round.extend(result.pending);
        self.outcomes.set_invalid(&result.invalid);
        // A lasting error replaces a transient one, because no retry mends it.
        if self.error.as_ref().is_none_or(StoreError::is_transient) {
            self.error = result.error.or(self.error.take());
        }
    }

    /// Takes all pending items, and why they are pending. Those that no call had go first in the
    /// next round. `None` if no item is pending.
    pub(super) fn take_pending(&mut self) -> Option<(Vec<PendingItem<I>>, StoreError)> {
        let chunks = std::mem::take(&mut self.chunks);
        let mut pending: Vec<_> = chunks.into_iter().flat_map(|chunk| chunk.items).collect();
        pending.append(&mut self.for_next_round);
        if pending.is_empty() {
            return None;
        }
        let error = self.error.take();
        Some((pending, error.unwrap_or(Cause::Throttled.into())))
    }

    /// Has the next round put these items.
    pub(super) fn begin_round(&mut self, pending: Vec<PendingItem<I>>) {
        self.chunks = into_chunks(pending);
    }

    /// What became of each item, of which none is pending.
    pub(super) fn into_outcomes(self) -> Vec<ItemOutcome> {
        self.outcomes.0
    }

    /// What became of each item, if `pending` are not put again.
    pub(super) fn give_up(
        mut self,
        pending: &[PendingItem<I>],
        reason: &StoreError,
    ) -> Vec<ItemOutcome> {
        self.outcomes.set_unacknowledged(pending, reason);
        self.outcomes.0
    }
}

/// What became of each item of a request, by its position.
struct ItemOutcomes(Vec<ItemOutcome>);

impl ItemOutcomes {
    /// Every item counts as stored until a call says otherwise.
    fn all_stored(items: usize) -> Self {
        Self(vec![ItemOutcome::Stored; items])
    }

    fn set_invalid(&mut self, positions: &[usize]) {
        for position in positions {
            self.set(*position, ItemOutcome::Invalid);
        }
    }

    fn set_unacknowledged<I>(&mut self, items: &[PendingItem<I>], reason: &StoreError) {
        for pending in items {
            let outcome = ItemOutcome::Unacknowledged(reason.clone());
            self.set(pending.position, outcome);
        }
    }

    fn set(&mut self, position: usize, outcome: ItemOutcome) {
        let entry = self.0.get_mut(position);
        *entry.expect("each item has an outcome") = outcome;
    }
}

fn into_chunks<I: BatchItem>(items: Vec<PendingItem<I>>) -> VecDeque<Chunk<PendingItem<I>>> {
    chunks(items, |pending| pending.item.text_bytes())
}

fn numbered<I>(items: Vec<I>) -> Vec<PendingItem<I>> {
    items
        .into_iter()
        .enumerate()
        .map(|(position, item)| PendingItem { position, item })
        .collect()
}
