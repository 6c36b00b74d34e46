//! The counts of requests and signals that the inspector shows. Must not know which exchanges are
//! kept.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exchange::Exchange;
use crate::exchange::signal::{EventContractVerdict, ShownSignal, ShownVerdict};

/// How many types are counted one by one, so that a client that makes up types does not fill the
/// memory.
pub(super) const MAX_TYPES: usize = 1_000;

/// The bytes of the longest type that is counted by itself.
const MAX_TYPE_BYTES: usize = 1_024;

/// What was counted since the start, or since the list was cleared.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExchangeCounts {
    requests: u64,
    warnings: usize,
    #[serde(flatten)]
    pub(crate) signals: SignalCounts,
    pub(super) by_type: BTreeMap<String, SignalCounts>,
    /// Signals of types that are not counted one by one.
    pub(super) other_types: u64,
    #[serde(rename = "contracts")]
    event_contracts: EventContractCounts,
}

/// With `--contracts`, how many signals had which verdict of their event contract.
#[derive(Clone, Default, Serialize)]
struct EventContractCounts {
    #[serde(rename = "ok")]
    kept: u64,
    broken: u64,
    #[serde(rename = "none")]
    no_contract: u64,
}

/// How many signals had which verdict.
#[derive(Clone, Default, Serialize)]
pub(crate) struct SignalCounts {
    stored: u64,
    deferred: u64,
    rejected: u64,
    refused: u64,
    /// Signals of requests that the service had seen before.
    replayed: u64,
    /// Signals that were acknowledged. Each counts once, however often its request was sent.
    distinct: u64,
}

impl SignalCounts {
    /// Adds a signal, of a batch that was acknowledged before or not.
    fn add(&mut self, signal: &ShownSignal, was_acknowledged: bool) {
        let count = match signal.verdict {
            ShownVerdict::Stored => &mut self.stored,
            ShownVerdict::Deferred => &mut self.deferred,
            ShownVerdict::Rejected => &mut self.rejected,
            ShownVerdict::Refused => &mut self.refused,
        };
        *count += 1;
        self.replayed += u64::from(signal.replayed);
        let is_new = signal.is_acknowledged() && !was_acknowledged;
        self.distinct += u64::from(is_new);
    }

    /// How many signals there are with any verdict.
    pub(crate) fn sum(&self) -> u64 {
        self.stored + self.deferred + self.rejected + self.refused
    }

    fn merge(&mut self, other: &Self) {
        self.stored += other.stored;
        self.deferred += other.deferred;
        self.rejected += other.rejected;
        self.refused += other.refused;
        self.replayed += other.replayed;
        self.distinct += other.distinct;
    }
}

impl EventContractCounts {
    fn add(&mut self, verdict: EventContractVerdict) {
        match verdict {
            EventContractVerdict::Kept => self.kept += 1,
            EventContractVerdict::Broken => self.broken += 1,
            EventContractVerdict::NoContract => self.no_contract += 1,
        }
    }
}

impl ExchangeCounts {
    /// Adds the signals of a request, whose batch was acknowledged before or not.
    pub(super) fn add(&mut self, exchange: &Exchange, was_acknowledged: bool) {
        self.requests += 1;
        self.warnings += exchange.parsed.warnings.len();
        for signal in &exchange.signals {
            self.add_signal(signal, was_acknowledged);
        }
    }

    /// Adds some of the signals of a request, if there are any.
    pub(super) fn add_signals<'a>(
        &mut self,
        signals: impl Iterator<Item = &'a ShownSignal>,
        was_acknowledged: bool,
    ) {
        let mut signals = signals.peekable();
        self.requests += u64::from(signals.peek().is_some());
        for signal in signals {
            self.warnings += signal.warnings.len();
            self.add_signal(signal, was_acknowledged);
        }
    }

    fn add_signal(&mut self, signal: &ShownSignal, was_acknowledged: bool) {
        self.signals.add(signal, was_acknowledged);
        if let Some(verdict) = signal.event_contract {
            self.event_contracts.add(verdict);
        }
        let Some(name) = &signal.r#type else { return };
        match self.counts_of_type(name) {
            Some(counts) => counts.add(signal, was_acknowledged),
            None => self.other_types += 1,
        }
    }

    /// The counts of a type, unless it is not counted by itself.
    fn counts_of_type(&mut self, name: &str) -> Option<&mut SignalCounts> {
        let has_room = self.by_type.len() < MAX_TYPES && name.len() <= MAX_TYPE_BYTES;
        if !has_room && !self.by_type.contains_key(name) {
            return None;
        }
        Some(self.by_type.entry(name.to_owned()).or_default())
    }

    /// Adds the counts of another account.
    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.warnings += other.warnings;
        self.signals.merge(&other.signals);
        self.other_types += other.other_types;
        self.event_contracts.kept += other.event_contracts.kept;
        self.event_contracts.broken += other.event_contracts.broken;
        self.event_contracts.no_contract += other.event_contracts.no_contract;
        for (name, counts) in &other.by_type {
            match self.counts_of_type(name) {
                Some(own) => own.merge(counts),
                None => self.other_types += counts.sum(),
            }
        }
    }
}
