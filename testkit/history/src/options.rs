//! What a run is told. Must not know how it is done.

use std::path::PathBuf;
use std::time::Duration;

use fault_proxy::Fault;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many signals are to be acknowledged, at least.
    pub signals: u64,
    /// How many processes are killed.
    pub kills: u64,
    /// The share of the calls to DynamoDB that are faulted, from 0 to 1, beside the windows.
    pub faults: f64,
    /// An outage of DynamoDB in place of the windows.
    pub outage: Option<Outage>,
    /// After how many events a process is replaced; a random number for each without it.
    pub replaced_after: Option<u64>,
    /// Requests of one client, which never retries, and waits for no response. In place of all others.
    pub rate: Option<Rate>,
    /// Chooses what is sent, what is faulted and what is killed.
    pub seed: u64,
    /// Where the programs of the functions are.
    pub programs: PathBuf,
}

/// What one client sends.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Requests each second.
    pub per_second: u32,
    /// Whether they update customers; otherwise they have signals.
    pub of_updates: bool,
}

/// An outage of DynamoDB.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    /// What the calls meet.
    pub fault: Fault,
    /// The only table that is away, by its logical id; without one, all are.
    pub table: Option<&'static str>,
    /// Whether DynamoDB is available every other second.
    pub is_flapping: bool,
    /// How long clients send before it, so that the functions have read their keys.
    pub after: Duration,
    /// How long it lasts.
    pub lasts: Duration,
    /// How long clients send after it.
    pub before_end: Duration,
}
