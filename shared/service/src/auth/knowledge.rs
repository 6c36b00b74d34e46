//! What a process knows of the keys and of their table. Look-ups share it, also those that go on after
//! their request. This module must not know how a look-up is made.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::timestamp::Timestamp;

use super::cache::Cache;
use super::durations::SNAPSHOT_FIRST_PERIOD;

/// What a process knows of the keys and of their table.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    cache: Mutex<Cache>,
    trouble: Mutex<Option<TableTrouble>>,
}

/// How the table behaved at its last look-up without an answer in time.
#[derive(Clone, Copy, Debug)]
struct TableTrouble {
    state: TableState,
    /// Until when look-ups ask the snapshot first.
    until: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableState {
    /// It answers in time, as far as is known.
    Answers,
    /// It has not answered in [`TABLE_HEAD_START`](super::durations::TABLE_HEAD_START).
    IsSlow,
    /// A call failed, or it has not answered in [`TABLE_SILENCE`](super::durations::TABLE_SILENCE).
    IsUnavailable,
}

impl Knowledge {
    pub(super) fn table_state(&self, now: Timestamp) -> TableState {
        match *lock(&self.trouble) {
            Some(trouble) if now < trouble.until => trouble.state,
            _ => TableState::Answers,
        }
    }

    /// Has the look-ups of the next [`SNAPSHOT_FIRST_PERIOD`] ask the snapshot before the table,
    /// because the table did not answer a look-up until `now`.
    pub(super) fn note(&self, state: TableState, now: Timestamp) {
        let until = now.plus(SNAPSHOT_FIRST_PERIOD);
        *lock(&self.trouble) = Some(TableTrouble { state, until });
    }

    pub(super) fn forget_trouble(&self) {
        *lock(&self.trouble) = None;
    }

    pub(super) fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        work(&mut lock(&self.cache))
    }
}

// Nothing panics half-way while it holds a lock, so what is behind a poisoned one is intact.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
