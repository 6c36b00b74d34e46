//! What a million signals cost, from counted write units and counted bytes of the log. Must not know how they are counted.
//!
//! Only what grows with signals and requests: DynamoDB on demand, API Gateway's HTTP API, Lambda, CloudWatch Logs.

use anyhow::{Result, ensure};
use hyper::body::Bytes;
use testkit::billed_log::{access_line, billed_bytes};

use crate::observation;
use crate::process::{Mode, Process};
use crate::requests;
use crate::target::Target;

/// Dollars for a million write units on demand, as AWS lists them for us-east-1 (2026). Other regions differ by up to
/// half; the units do not.
pub const WRITE_UNITS: f64 = 0.625;

/// Dollars for a million requests to an HTTP API.
pub const GATEWAY: f64 = 1.00;

/// Dollars for a million invocations.
pub const INVOCATIONS: f64 = 0.20;

/// Dollars for a GB-second on arm64.
pub const GB_SECOND: f64 = 0.000_013_333_4;

/// Dollars for a GB of log.
pub const LOG_GB: f64 = 0.50;

/// Requests whose lines are counted. The times in them differ in their number of digits.
const LOGGED_REQUESTS: usize = 20;

/// One way of sending a million signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Signals in a batch.
    pub signals: u64,
    /// Whether each batch has a requestIdentifier.
    pub identified: bool,
    /// Write units for a million signals.
    pub write_units: u64,
    /// Bytes of log for a request, in the log of the function and in the access log.
    pub log_bytes: u64,
}

impl Price {
    /// Requests for a million signals.
    pub fn requests(&self) -> u64 {
        1_000_000_u64.checked_div(self.signals).unwrap_or_default()
    }
}

/// Counts write units and bytes of log for batches of several sizes, with and without a requestIdentifier.
///
/// # Errors
/// When a response is not 200.
pub async fn measure(signals: &Target) -> Result<Vec<Price>> {
    let mut prices = Vec::new();
    for size in [1, 25, 100, 500] {
        for identified in [false, true] {
            let event = requests::batch(size, identified.then_some(requests::REQUEST_IDENTIFIER))?;
            let observed = observation::observe(signals, &event, false).await?;
            let signals_of_batch = u64::try_from(size)?;
            let mut price = Price { signals: signals_of_batch, identified, write_units: 0, log_bytes: 0 };
            price.write_units = observed.counts.write_units.saturating_mul(price.requests());
            price.log_bytes = log_bytes(signals, &event).await?;
            prices.push(price);
        }
    }
    Ok(prices)
}

/// The mean of the bytes that CloudWatch bills for a warm request.
async fn log_bytes(signals: &Target, event: &Bytes) -> Result<u64> {
    let mut process = Process::start(signals, Mode { log: true, ..Mode::default() }).await?;
    process.dynamodb.set_delay(observation::DELAY);
    for _ in 0..=LOGGED_REQUESTS {
        process.invoke(event).await?;
    }
    let lines = process.log().await;
    ensure!(lines.len() == LOGGED_REQUESTS.saturating_add(1), "a request has one line: {lines:?}");
    let of_function = lines.iter().skip(1).map(|line| billed_bytes(line)).sum::<usize>() / LOGGED_REQUESTS;
    Ok(u64::try_from(of_function.saturating_add(billed_bytes(&access_line()?)))?)
}
