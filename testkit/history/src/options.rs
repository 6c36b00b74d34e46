//! What a run is told. Must not know how it is done.

use std::path::PathBuf;
use std::time::Duration;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How many signals are to be acknowledged, at least.
    pub signals: u64,
    /// How many processes are killed.
    pub kills: u64,
    /// How long DynamoDB is away, once, in place of the windows.
    pub outage: Option<Duration>,
    /// Chooses what is sent, what is faulted and what is killed.
    pub seed: u64,
    /// Where the programs of the functions are.
    pub programs: PathBuf,
}
