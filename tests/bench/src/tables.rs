//! The tables that are printed. Must not know how anything is measured.

use anyhow::Result;

use crate::instructions::Instructions;
use crate::observation::{cold, warm};
use crate::peers::Peer;
use crate::program::{Program, function};
use crate::report::{megabytes, millions, milliseconds, step, thousands};
use crate::workload::{Workload, batch};

/// The goals of the functions beside what was measured. A customer, a signal and a batch of 100 are
/// counted.
pub(crate) async fn goals(
    [customer, signal, of_100]: [Instructions; 3],
) -> Result<Vec<[String; 3]>> {
    step("measuring calls, time and memory");
    let (customers, signals) = (function("customers")?, function("signals")?);
    let calls_of_customer = warm(&customers, &Workload::Customer.event()?).await?.calls;
    let calls_of_100 = warm(&signals, &batch(100)?).await?.calls;
    let of_500 = warm(&signals, &batch(500)?).await?;
    let cold = |counted: Instructions| format!("{:.2} M", millions(counted.start + counted.first));
    let without_sha256 = |counted: Instructions| counted.warm.instructions - counted.warm.sha256;
    let of_signal = thousands(without_sha256(of_100) / 100);
    let time = format!(
        "{}, {} connections",
        milliseconds(of_500.time),
        of_500.connections
    );
    let rows = [
        ("what", "goal", "measured".to_owned()),
        (
            "instructions, exec through first customer",
            "5.6 M",
            cold(customer),
        ),
        ("the same, a batch of one signal", "5.6 M", cold(signal)),
        (
            "instructions, warm customer, without SHA-256",
            "600 k",
            thousands(without_sha256(customer)),
        ),
        (
            "instructions, signal in a warm batch of 100, without SHA-256",
            "48 k",
            of_signal,
        ),
        (
            "500 signals at 5 ms a call",
            "17 ms, at most 20 connections",
            time,
        ),
        (
            "peak memory, 500 signals",
            "13.5 MB",
            megabytes(of_500.memory),
        ),
        (
            "calls of a warm customer",
            "1",
            calls_of_customer.to_string(),
        ),
        (
            "calls of a warm batch of 100",
            "4",
            calls_of_100.to_string(),
        ),
    ];
    Ok(rows
        .map(|(what, goal, measured)| [what.to_owned(), goal.to_owned(), measured])
        .to_vec())
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
    let intake = peer_row("Intake", &function("customers")?, &function("signals")?).await?;
    let mut rows = vec![header.map(ToOwned::to_owned), intake];
    for Peer { label, program } in peers {
        rows.push(peer_row(label, program, program).await?);
    }
    Ok(rows)
}

async fn peer_row(label: &str, customers: &Program, signals: &Program) -> Result<[String; 6]> {
    step(format!("measuring {label}"));
    let customer = Workload::Customer.event()?;
    let first = cold(customers, &customer).await?;
    let of_customer = warm(customers, &customer).await?;
    let of_100 = warm(signals, &batch(100)?).await?;
    let of_500 = warm(signals, &batch(500)?).await?;
    Ok([
        label.to_owned(),
        milliseconds(first),
        milliseconds(of_customer.time),
        milliseconds(of_100.time),
        milliseconds(of_500.time),
        megabytes(of_500.memory),
    ])
}
