//! A simulation of the service on tables that throttle, in simulated time, and what rates of signals need: the figures of
//! docs/scale.md.
//!
//! The tables are those of the fault proxy; backoff, deadlines and batch sizes are those of the store and the functions. It
//! needs no socket, and the same seed gives the same figures.

mod clock;
pub mod outcome;
pub mod page;
pub mod report;
pub mod scenario;
mod service;
pub mod sizing;

/// The seed of the figures in docs/scale.md.
pub const SEED: u64 = 20_261_122;

use self::outcome::Outcome;
use self::scenario::Scenario;

/// Simulates a scenario. The same seed gives the same outcome.
pub fn simulate(scenario: &Scenario, seed: u64) -> Outcome {
    service::run(scenario, seed)
}
