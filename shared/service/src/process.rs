//! The process of a function on Lambda: its variables, its log, and when it started.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use aws::variables::Variables;
use tokio::time::Instant;

use crate::telemetry;
use crate::telemetry::log::Log;

/// What a function gets from its process.
#[derive(Clone, Debug)]
pub struct Process {
    /// The variables that Lambda and the template set.
    pub variables: Variables,
    /// Standard output, which Lambda sends to CloudWatch.
    pub log: Log,
    pub started: Instant,
}

impl Process {
    /// The process of the function in the crate `function`, at its start: from now on, events and
    /// panics are logged.
    pub fn start(function: &'static str) -> Self {
        let started = Instant::now();
        telemetry::init(function);
        // Without a seed, it is the time and the thread, which many processes of a deployment may share.
        fastrand::seed(RandomState::new().build_hasher().finish());
        let variables = Variables::from_process();
        let log = Log::to_stdout(&variables);
        Self {
            variables,
            log,
            started,
        }
    }
}
