//! How a pool is run, and what it reports.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::Error;

use crate::function_process::ProcessOptions;
use crate::runtime_api::EventQueue;

/// How the processes of a function are run.
pub struct PoolOptions {
    /// The events that the processes serve.
    pub events: EventQueue,
    /// The options of the process with this number, which counts from 0. The pool gives each
    /// process a queue of its own.
    pub process: Box<dyn Fn(u64) -> ProcessOptions + Send + Sync>,
    /// How many events a process serves.
    pub lifetime: RangeInclusive<u64>,
    /// The seed that chooses how many events a process serves.
    pub seed: u64,
    /// Gets the program and what is wrong with its process.
    pub report: fn(&Path, &ProcessFailure),
}

/// Why a process does not serve.
#[derive(Debug)]
pub enum ProcessFailure {
    /// Its program cannot be started.
    NotStarted(Error),
    /// It has ended by itself.
    Ended(ExitStatus),
}

/// What comes after the name of the program in a message.
impl Display for ProcessFailure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(error) => write!(formatter, "cannot be started: {error:#}"),
            Self::Ended(status) => write!(formatter, "ended by itself: {status}"),
        }
    }
}
