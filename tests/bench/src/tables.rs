//! The tables that are printed. Must not know how anything is measured.

use anyhow::Result;

use crate::instructions::Instructions;
use crate::observation::{Observation, measure_cold, measure_warm};
use crate::peers::Peer;
use crate::program::{Program, function};
use crate::report::{megabytes, millions, milliseconds, step, thousands};
use crate::workload::{Workload, batch};

/// A row of the table of goals.
struct Goal {
    what: &'static str,
    limit: &'static str,
    measured: String,
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
            batch_of_500: measure_warm(&signals, &batch(500)?).await?,
        })
    }
}

/// The goals of the functions beside what was counted, and what this measures.
pub(crate) async fn goals(counted: CountedWorkloads) -> Result<Vec<[String; 3]>> {
    let observed = GoalObservations::measure().await?;
    let header = ["what", "goal", "measured"];
    let mut rows = vec![header.map(ToOwned::to_owned)];
    let goals = instruction_goals(counted)
        .into_iter()
        .chain(observation_goals(&observed));
    for goal in goals {
        rows.push([goal.what.to_owned(), goal.limit.to_owned(), goal.measured]);
    }
    Ok(rows)
}

fn instruction_goals(counted: CountedWorkloads) -> [Goal; 4] {
    let cold = |counted: Instructions| format!("{:.2} M", millions(counted.start + counted.first));
    let without_sha256 = |counted: Instructions| counted.warm.instructions - counted.warm.sha256;
    [
        Goal {
            what: "instructions, exec through first customer",
            limit: "5.6 M",
            measured: cold(counted.customer),
        },
        Goal {
            what: "the same, a batch of one signal",
            limit: "5.6 M",
            measured: cold(counted.signal),
        },
        Goal {
            what: "instructions, warm customer, without SHA-256",
            limit: "600 k",
            measured: thousands(without_sha256(counted.customer)),
        },
        Goal {
            what: "instructions, signal in a warm batch of 100, without SHA-256",
            limit: "48 k",
            measured: thousands(without_sha256(counted.batch) / 100),
        },
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
            limit: "17 ms, at most 20 connections",
            measured: format!("{}, {connections} connections", milliseconds(time)),
        },
        Goal {
            what: "peak memory, 500 signals",
            limit: "13.5 MB",
            measured: megabytes(memory),
        },
        Goal {
            what: "calls of a warm customer",
            limit: "1",
            measured: observed.customer.calls.to_string(),
        },
        Goal {
            what: "calls of a warm batch of 100",
            limit: "4",
            measured: observed.batch_of_100.calls.to_string(),
        },
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
