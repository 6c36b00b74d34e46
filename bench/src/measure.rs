//! A whole run: everything in the table of goals, for the functions and the reference implementations. Must not know how it
//! is shown.

use std::time::Duration;

use anyhow::Result;

use crate::binary_size::{BinarySize, binary_size};
use crate::count::{Instructions, Spans, count};
use crate::fault_latency;
use crate::observation::{self, Observation};
use crate::requests::{self, REQUEST_IDENTIFIER};
use crate::target::{Target, Targets};

/// Invocations at once where throughput is measured.
pub const CONCURRENCY: u16 = 8;

/// What was measured of the functions and of the reference implementations.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One customer a request, over TLS.
    pub customer: Instructions,
    /// One signal a request, over TLS.
    pub signal: Instructions,
    /// A hundred signals a request, over TLS.
    pub batch: Instructions,
    /// Five hundred signals a request.
    pub batch_of_500: Observation,
    /// The largest body.
    pub largest: Observation,
    /// Batches of 25 signals a second: one at a time, and [`CONCURRENCY`] at once.
    pub throughput: [f64; 2],
    /// Calls of a warm customer, of a batch of 100, and of one with a requestIdentifier.
    pub calls: [u64; 3],
    /// Write units of 500 signals with a requestIdentifier.
    pub units_of_500: u64,
    /// What a throttled call adds to the median of a customer.
    pub fault_latency: Duration,
    /// Of the function for signals, which is the larger one.
    pub size: BinarySize,
    /// The stock SDK in Rust.
    pub stock: Reference,
    /// Its size.
    pub stock_size: BinarySize,
    /// Python.
    pub python: Reference,
}

/// What was measured of a reference implementation: the same service, written in the most common way.
#[derive(Clone, Debug)]
pub struct Reference {
    /// One customer a request, over TLS.
    pub customer: Instructions,
    /// A hundred signals a request, over TLS.
    pub batch: Instructions,
    /// Five hundred signals a request.
    pub batch_of_500: Observation,
}

/// What is compared with the baseline: the functions alone.
///
/// # Errors
/// When a response is not 200.
pub async fn counts(functions: &Targets) -> Result<[(&'static str, Instructions); 3]> {
    let customer = count(&functions.customers, &requests::customer()?, Spans::LONG).await?;
    let signal = count(&functions.signals, &requests::batch(1, None)?, Spans::LONG).await?;
    let batch = count(&functions.signals, &requests::batch(100, None)?, Spans::LONG).await?;
    Ok([("customers", customer), ("signals, 1 a batch", signal), ("signals, 100 a batch", batch)])
}

/// Everything, with the counts from [`counts`].
///
/// # Errors
/// When a response is not 200.
pub async fn everything(
    functions: &Targets,
    counts: [(&str, Instructions); 3],
    stock: &Target,
    python: &Target,
) -> Result<Measured> {
    let [(_, customer), (_, signal), (_, batch)] = counts;
    let Targets { customers, signals, .. } = functions;
    let named = observation::observe(signals, &requests::batch(100, Some(REQUEST_IDENTIFIER))?, true).await?;
    let largest_named = observation::observe(signals, &requests::batch(500, Some(REQUEST_IDENTIFIER))?, true).await?;
    Ok(Measured {
        customer,
        signal,
        batch,
        batch_of_500: observation::observe(signals, &requests::batch(500, None)?, true).await?,
        largest: observation::observe(signals, &requests::largest_batch()?, true).await?,
        throughput: [
            observation::throughput(signals, &requests::batch(25, None)?, 1).await?,
            observation::throughput(signals, &requests::batch(25, None)?, CONCURRENCY).await?,
        ],
        calls: [
            observation::observe(customers, &requests::customer()?, true).await?.counts.calls(),
            observation::observe(signals, &requests::batch(100, None)?, true).await?.counts.calls(),
            named.counts.calls(),
        ],
        units_of_500: largest_named.counts.write_units,
        fault_latency: fault_latency::measure(customers).await?,
        size: binary_size(signals, "", "signals")?,
        stock: reference(stock, Spans::LONG).await?,
        stock_size: binary_size(stock, "bench/stock", "stock")?,
        python: reference(python, Spans::SHORT).await?,
    })
}

async fn reference(target: &Target, spans: Spans) -> Result<Reference> {
    Ok(Reference {
        customer: count(target, &requests::customer()?, spans).await?,
        batch: count(target, &requests::batch(100, None)?, spans).await?,
        batch_of_500: observation::observe(target, &requests::batch(500, None)?, true).await?,
    })
}
