//! A whole run: everything that the table of goals says, of the functions and of the yardsticks.

use anyhow::Result;

use crate::clock::{self, Seen};
use crate::count::{Instructions, Spans, count};
use crate::report::grouped;
use crate::requests::{self, REQUEST_IDENTIFIER};
use crate::size::{Size, weigh};
use crate::subject::{Subject, Subjects};

/// Invocations at once, where a runtime allows more than one.
pub const AT_ONCE: u16 = 8;

/// What was measured of the functions, and beside them of the yardsticks.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One customer a request, over TLS.
    pub customer: Instructions,
    /// One signal a request, over TLS.
    pub signal: Instructions,
    /// A hundred signals a request, over TLS.
    pub batch: Instructions,
    /// Five hundred signals a request.
    pub seen: Seen,
    /// The largest body.
    pub largest: Seen,
    /// Batches of 25 signals a second: one at a time, and [`AT_ONCE`] at once.
    pub throughput: [f64; 2],
    /// Calls of a warm customer, of a batch of 100, and of one with a requestIdentifier.
    pub calls: [u64; 3],
    /// Write units of 500 signals with a requestIdentifier.
    pub units_of_500: u64,
    /// Of the function for signals, which is the larger one.
    pub size: Size,
    /// The stock SDK.
    pub stock: Yardstick,
    /// Its size.
    pub stock_size: Size,
    /// Python.
    pub python: Yardstick,
}

/// What was measured of a yardstick.
#[derive(Clone, Debug)]
pub struct Yardstick {
    /// One customer a request, over TLS.
    pub customer: Instructions,
    /// A hundred signals a request, over TLS.
    pub batch: Instructions,
    /// Five hundred signals a request.
    pub seen: Seen,
}

impl Measured {
    /// Write units for a million signals in batches of 500 that have a requestIdentifier.
    #[must_use]
    pub fn write_units(&self) -> String {
        grouped(self.units_of_500.saturating_mul(2_000))
    }
}

/// What the regression guard compares: the functions alone.
///
/// # Errors
/// When one of them does not answer.
pub async fn counts(functions: &Subjects) -> Result<[(&'static str, Instructions); 3]> {
    let customer = count(&functions.customers, &requests::customer()?, Spans::LONG).await?;
    let signal = count(&functions.signals, &requests::batch(1, None)?, Spans::LONG).await?;
    let batch = count(&functions.signals, &requests::batch(100, None)?, Spans::LONG).await?;
    Ok([("customers", customer), ("signals, 1 a batch", signal), ("signals, 100 a batch", batch)])
}

/// Everything, with the counts that were made before.
///
/// # Errors
/// When a function or a yardstick does not answer.
pub async fn everything(
    functions: &Subjects,
    counts: [(&str, Instructions); 3],
    stock: &Subject,
    python: &Subject,
) -> Result<Measured> {
    let [(_, customer), (_, signal), (_, batch)] = counts;
    let Subjects { customers, signals } = functions;
    let named = clock::observe(signals, &requests::batch(100, Some(REQUEST_IDENTIFIER))?, true).await?;
    let largest_named = clock::observe(signals, &requests::batch(500, Some(REQUEST_IDENTIFIER))?, true).await?;
    Ok(Measured {
        customer,
        signal,
        batch,
        seen: clock::observe(signals, &requests::batch(500, None)?, true).await?,
        largest: clock::observe(signals, &requests::largest_batch()?, true).await?,
        throughput: [
            clock::throughput(signals, &requests::batch(25, None)?, 1).await?,
            clock::throughput(signals, &requests::batch(25, None)?, AT_ONCE).await?,
        ],
        calls: [
            clock::observe(customers, &requests::customer()?, true).await?.counts.calls(),
            clock::observe(signals, &requests::batch(100, None)?, true).await?.counts.calls(),
            named.counts.calls(),
        ],
        units_of_500: largest_named.counts.write_units,
        size: weigh(signals, "", "signals")?,
        stock: yardstick(stock, Spans::LONG).await?,
        stock_size: weigh(stock, "bench/stock", "stock")?,
        python: yardstick(python, Spans::SHORT).await?,
    })
}

async fn yardstick(subject: &Subject, spans: Spans) -> Result<Yardstick> {
    Ok(Yardstick {
        customer: count(subject, &requests::customer()?, spans).await?,
        batch: count(subject, &requests::batch(100, None)?, spans).await?,
        seen: clock::observe(subject, &requests::batch(500, None)?, true).await?,
    })
}
