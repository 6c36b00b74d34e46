//! What becomes of the signals of a scenario. Must not know how they are stored.

use std::collections::BTreeMap;
use std::time::Duration;

/// The outcome of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The signals of each source.
    pub sources: Vec<Signals>,
    /// The most signals that waited in the overflow queue at once.
    pub longest_queue: usize,
    /// How long after the last request the queue was empty.
    pub drained_after: Duration,
    /// The most execution environments that were busy at once.
    pub environments: usize,
    /// The partitions of the table of signals at the end.
    pub partitions: usize,
}

/// The signals of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// Sent by the clients.
    pub sent: usize,
    /// Answered 503, since Lambda had no execution environment left.
    pub refused: usize,
    /// Sent to the overflow queue.
    pub deferred: usize,
    /// By the milliseconds from their arrival until they were stored.
    stored: BTreeMap<u128, usize>,
}

impl Signals {
    /// Stored now, `after` their arrival.
    pub(crate) fn store(&mut self, count: usize, after: Duration) {
        let stored = self.stored.entry(after.as_millis()).or_default();
        *stored = stored.saturating_add(count);
    }

    /// All that were stored.
    pub fn stored(&self) -> usize {
        self.stored.values().sum()
    }

    /// The time within which this share of the stored signals was stored.
    pub fn time_to_store(&self, percent: usize) -> Duration {
        let rank = self.stored().saturating_mul(percent).div_ceil(100);
        let mut stored = 0_usize;
        let time = self.stored.iter().find(|(_, count)| {
            stored = stored.saturating_add(**count);
            stored >= rank
        });
        time.and_then(|(time, _)| u64::try_from(*time).ok()).map(Duration::from_millis).unwrap_or_default()
    }
}
