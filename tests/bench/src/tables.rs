//! The tables that are printed, and the goals. This module must not know how anything is measured.

use anyhow::Result;

use crate::instructions::Instructions;
use crate::observation::{Observation, measure_cold, measure_warm};
use crate::peers::Peer;
use crate::program::{Program, function};
use crate::report::{megabytes, millions, milliseconds, step, thousands};
use crate::workload::{Workload, batch};

/// The most calls of a warm customer.
const MAX_CALLS_OF_CUSTOMER: u64 = 1;

/// The most calls of a warm batch of 100 signals.
const MAX_CALLS_OF_BATCH_OF_100: u64 = 4;

/// The most connections that a process with batches of 500 signals opens.
const MAX_CONNECTIONS: u64 = 20;

/// How often the connections are measured again.
const MAX_REPEATS: usize = 3;

/// A row of the table of goals.
struct Goal {
    what: &'static str,
    limit: String,
    measured: String,
    /// Whether a count of calls or connections is over its limit. The other figures depend on the
    /// machine, and the baseline guards the instructions.
    is_missed: bool,
}

impl Goal {
    /// A goal of which the reader judges whether it is met.
    fn shown(what: &'static str, limit: &'static str, measured: String) -> Self {
        Self {
            what,
            limit: limit.to_owned(),
            measured,
            is_missed: false,
        }
    }

    /// A number of calls, which is the same on every machine.
    fn calls(what: &'static str, limit: u64, measured: u64) -> Self {
        Self {
            what,
            limit: limit.to_string(),
            measured: measured.to_string(),
            is_missed: measured > limit,
        }
    }
}

/// The goals beside what was measured.
pub(crate) struct MeasuredGoals {
    /// The table, with its header.
    pub(crate) rows: Vec<[String; 3]>,
    /// What is over a limit that holds on every machine.
    pub(crate) missed: Vec<&'static str>,
}

/// The instructions of each workload.
#[derive(Clone, Copy)]
pub(crate) struct CountedWorkloads {
    pub(crate) customer: Instructions,
    pub(crate) signal: Instructions,
    pub(crate) batch: Instructions,
}

/// What is measured for the goals beside instructions.
struct GoalObservations {
    customer: Observation,
    batch_of_100: Observation,
    batch_of_500: Observation,
}

impl GoalObservations {
    async fn measure() -> Result<Self> {
        step("measuring calls, time and memory");
        let customers = function("customers")?;
        let signals = function("signals")?;
        Ok(Self {
            customer: measure_warm(&customers, &Workload::Customer.event()?).await?,
            batch_of_100: measure_warm(&signals, &batch(100)?).await?,
            batch_of_500: measure_largest_batch(&signals).await?,
        })
    }
}

/// Measures a batch of 500 signals. On a machine that stands still for half a second, the function
/// makes calls a second time, on new connections: then it is measured again.
async fn measure_largest_batch(signals: &Program) -> Result<Observation> {
    let event = batch(500)?;
    let mut observation = measure_warm(signals, &event).await?;
    for _ in 0..MAX_REPEATS {
        if observation.connections <= MAX_CONNECTIONS {
            break;
        }
        step("measuring again: more connections than calls at once");
        observation = measure_warm(signals, &event).await?;
    }
    Ok(observation)
}

/// The goals of the functions beside what was counted, and what this measures.
pub(crate) async fn goals(counted: CountedWorkloads) -> Result<MeasuredGoals> {
    let observed = GoalObservations::measure().await?;
    let header = ["what", "goal", "measured"];
    let mut rows = vec![header.map(ToOwned::to_owned)];
    let goals = instruction_goals(counted)
        .into_iter()
        .chain(observation_goals(&observed));
    let mut missed = Vec::new();
    for goal in goals {
        if goal.is_missed {
            missed.push(goal.what);
        }
        rows.push([goal.what.to_owned(), goal.limit, goal.measured]);
    }
    Ok(MeasuredGoals { rows, missed })
}

fn instruction_goals(counted: CountedWorkloads) -> [Goal; 4] {
    let cold = |counted: Instructions| format!("{:.2} M", millions(counted.start + counted.first));
    let without_sha256 = |counted: Instructions| counted.warm.instructions - counted.warm.sha256;
    [
        Goal::shown(
            "instructions, exec through first customer",
            "5.6 M",
            cold(counted.customer),
        ),
        Goal::shown(
            "the same, a batch of one signal",
            "5.6 M",
            cold(counted.signal),
        ),
        Goal::shown(
            "instructions, warm customer, without SHA-256",
            "600 k",
            thousands(without_sha256(counted.customer)),
        ),
        Goal::shown(
            "instructions, signal in a warm batch of 100, without SHA-256",
            "48 k",
            thousands(without_sha256(counted.batch) / 100),
        ),
    ]
}

fn observation_goals(observed: &GoalObservations) -> [Goal; 4] {
    let Observation {
        time,
        connections,
        memory,
        ..
    } = observed.batch_of_500;
    [
        Goal {
            what: "500 signals at 5 ms a call",
            limit: format!("17 ms, at most {MAX_CONNECTIONS} connections"),
            measured: format!("{}, {connections} connections", milliseconds(time)),
            is_missed: connections > MAX_CONNECTIONS,
        },
        Goal::shown("peak memory, 500 signals", "13.5 MB", megabytes(memory)),
        Goal::calls(
            "calls of a warm customer",
            MAX_CALLS_OF_CUSTOMER,
            observed.customer.calls,
        ),
        Goal::calls(
            "calls of a warm batch of 100",
            MAX_CALLS_OF_BATCH_OF_100,
            observed.batch_of_100.calls,
        ),
    ]
}

/// The functions beside their peers, which do the work of both in one program.
pub(crate) async fn peers(peers: &[Peer]) -> Result<Vec<[String; 6]>> {
    let header = [
        "in",
        "exec through first customer",
        "warm customer",
        "warm batch of 100 signals",
        "warm batch of 500 signals",
        "peak memory, 500 signals",
    ];
    let customers = function("customers")?;
    let signals = function("signals")?;
    let intake = peer_row("Intake", &customers, &signals).await?;
    let mut rows = vec![header.map(ToOwned::to_owned), intake];
    for Peer { label, program } in peers {
        let row = peer_row(label, program, program).await?;
        rows.push(row);
    }
    Ok(rows)
}

async fn peer_row(label: &str, customers: &Program, signals: &Program) -> Result<[String; 6]> {
    step(format!("measuring {label}"));
    let customer = Workload::Customer.event()?;
    let first = measure_cold(customers, &customer).await?;
    let of_customer = measure_warm(customers, &customer).await?;
    let of_100 = measure_warm(signals, &batch(100)?).await?;
    let of_500 = measure_warm(signals, &batch(500)?).await?;
    Ok([
        label.to_owned(),
        milliseconds(first),
        milliseconds(of_customer.time),
        milliseconds(of_100.time),
        milliseconds(of_500.time),
        megabytes(of_500.memory),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_calls_over_its_limit_misses_the_goal() {
        assert!(!Goal::calls("calls", 4, 4).is_missed);
        assert!(Goal::calls("calls", 4, 5).is_missed);
    }
}
