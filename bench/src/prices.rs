//! What a million signals cost, from the counted write units. Must not know how they are counted.
//!
//! Only what grows with signals and requests: DynamoDB on demand, API Gateway's HTTP API, Lambda's requests. Lambda's time
//! depends on the configured memory, and costs less than a tenth of the rest.

use anyhow::Result;
use testkit::fake_dynamodb::Counts;

use crate::observation;
use crate::requests;
use crate::target::Target;

/// Dollars for a million write units on demand, as AWS lists them for us-east-1 (2026). Other regions differ by up to
/// half; the units do not.
const WRITE_UNITS: f64 = 0.625;

/// Dollars for a million requests to an HTTP API.
const GATEWAY: f64 = 1.00;

/// Dollars for a million invocations.
const INVOCATIONS: f64 = 0.20;

/// One way of sending a million signals.
#[derive(Clone, Debug)]
pub struct Price {
    /// Signals in a batch.
    pub signals: usize,
    /// Whether each batch has a requestIdentifier.
    pub identified: bool,
    /// Write units for a million signals.
    pub write_units: u64,
    /// Dollars for them.
    pub storage: f64,
    /// Dollars for the requests, at the gateway and as invocations.
    pub requests: f64,
}

impl Price {
    fn new(signals: usize, identified: bool, counts: &Counts) -> Self {
        let requests = 1_000_000_u64.checked_div(u64::try_from(signals).unwrap_or(1)).unwrap_or_default();
        let write_units = counts.write_units.saturating_mul(requests);
        let millions = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / 1_000_000.0;
        Self {
            signals,
            identified,
            write_units,
            storage: millions(write_units) * WRITE_UNITS,
            requests: millions(requests) * (GATEWAY + INVOCATIONS),
        }
    }
}

/// Counts write units of batches of several sizes, with and without a requestIdentifier.
///
/// # Errors
/// When a response is not 200.
pub async fn measure(signals: &Target) -> Result<Vec<Price>> {
    let mut prices = Vec::new();
    for size in [1, 25, 100, 500] {
        for identified in [false, true] {
            let event = requests::batch(size, identified.then_some(requests::REQUEST_IDENTIFIER))?;
            let observed = observation::observe(signals, &event, false).await?;
            prices.push(Price::new(size, identified, &observed.counts));
        }
    }
    Ok(prices)
}
