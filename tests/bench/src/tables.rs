//! The tables that are printed, and the goals. This module must not know how anything is measured.

use anyhow::{Result, ensure};

use crate::instructions::Instructions;
use crate::observation::{Observation, measure_cold, measure_warm};
use crate::program::{Program, function};
use crate::report::{megabytes, millions, milliseconds, step, thousands};
use crate::workload::{Workload, batch};

/// The most connections that a process with batches of 500 signals opens.
const MAX_CONNECTIONS: u64 = 20;

/// How often the connections are measured again.
const MAX_REPEATS: usize = 3;

/// The instructions of each workload.
#[derive(Clone, Copy)]
pub(crate) struct CountedWorkloads {
    pub(crate) customer: Instructions,
    pub(crate) signal: Instructions,
    pub(crate) batch: Instructions,
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
    let connections = observation.connections;
    ensure!(
        connections <= MAX_CONNECTIONS,
        "batches of 500 signals opened {connections} connections instead of {MAX_CONNECTIONS} at most"
    );
    Ok(observation)
}

/// The table of the goals, with its header, of what was counted and what this measures. Only
/// connections have a limit that holds on every machine: the other figures depend on the machine, and
/// the baseline guards the instructions.
///
/// # Errors
/// When nothing can be measured, or there are more connections than their limit.
pub(crate) async fn goals(counted: CountedWorkloads) -> Result<Vec<[String; 3]>> {
    step("measuring time, memory and connections");
    let signals = function("signals")?;
    let of_500 = measure_largest_batch(&signals).await?;
    let cold = |counted: Instructions| format!("{:.2} M", millions(counted.start + counted.first));
    let without_sha256 = |counted: Instructions| counted.warm.instructions - counted.warm.sha256;
    Ok(vec![
        ["what", "goal", "measured"].map(ToOwned::to_owned),
        row(
            "instructions, exec to the first response, customer",
            "5.6 M",
            cold(counted.customer),
        ),
        row(
            "the same, a batch of one signal",
            "5.6 M",
            cold(counted.signal),
        ),
        row(
            "instructions, warm customer, without SHA-256",
            "600 k",
            thousands(without_sha256(counted.customer)),
        ),
        row(
            "instructions, signal in a warm batch of 100, without SHA-256",
            "48 k",
            thousands(without_sha256(counted.batch) / 100),
        ),
        row(
            "500 signals at 5 ms a call",
            "17 ms",
            milliseconds(of_500.time),
        ),
        row(
            "peak memory, 500 signals",
            "13.5 MB",
            megabytes(of_500.memory),
        ),
        row(
            "connections of 500 signals",
            &MAX_CONNECTIONS.to_string(),
            of_500.connections.to_string(),
        ),
    ])
}

fn row(what: &str, goal: &str, measured: String) -> [String; 3] {
    [what.to_owned(), goal.to_owned(), measured]
}

/// The functions beside their peers, which do the work of both in one program.
pub(crate) async fn peers(peers: &[Program]) -> Result<Vec<[String; 6]>> {
    let header = [
        "in",
        "exec to the first response",
        "warm customer",
        "warm batch of 100 signals",
        "warm batch of 500 signals",
        "peak memory, 500 signals",
    ];
    let customers = function("customers")?;
    let signals = function("signals")?;
    let intake = peer_row("Intake", &customers, &signals).await?;
    let mut rows = vec![header.map(ToOwned::to_owned), intake];
    for peer in peers {
        rows.push(peer_row(&peer.name, peer, peer).await?);
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
