//! What a run is told.

use std::path::PathBuf;
use std::time::Duration;

/// The options of a run.
#[derive(Clone, Debug)]
pub(super) struct RunOptions {
    /// How many signals are to be acknowledged, at least.
    pub signals: u64,
    /// How many processes are killed.
    pub kills: u64,
    /// How long DynamoDB is unavailable, once, in place of the windows.
    pub outage: Option<Duration>,
    /// Chooses what is sent, what is faulted and what is killed.
    pub seed: u64,
    /// Where the programs of the functions are.
    pub programs: PathBuf,
}

/// A part of a run that makes random choices.
#[derive(Clone, Copy, Debug)]
pub(super) enum RunPart {
    CustomerClients,
    Drain,
    /// The function with this number.
    Function(u64),
    Imports,
    Kills,
    /// The faults of single calls to SQS and S3.
    OtherFaults,
    SignalClients,
    Windows,
}

impl RunOptions {
    /// The seed of a part of the run, which follows from the seed of the run. The clients that send
    /// signals and the faults of SQS and S3 have the seed of the run itself.
    pub(super) fn seed_of(&self, part: RunPart) -> u64 {
        match part {
            RunPart::SignalClients | RunPart::OtherFaults => self.seed,
            RunPart::CustomerClients => !self.seed,
            RunPart::Imports => self.seed.rotate_left(8),
            RunPart::Windows => self.seed.rotate_left(16),
            RunPart::Kills => self.seed.rotate_left(32),
            RunPart::Drain => self.seed.rotate_left(48),
            RunPart::Function(number) => self.seed.wrapping_mul(1_000).wrapping_add(number),
        }
    }
}
