//! What was measured: latencies as the client sees them, and what a million signals would have cost.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// Prices of us-east-1 for a million, in dollars: a write unit on demand, a request to an HTTP API, a request to Lambda.
const WRITE_UNITS: f64 = 0.625;
const GATEWAY_REQUESTS: f64 = 1.0;
const LAMBDA_REQUESTS: f64 = 0.2;

/// The bytes of a write unit.
const UNIT_BYTES: usize = 1_024;

/// How long requests with batches of one size took, in milliseconds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Latency {
    pub(super) batch_size: usize,
    pub(super) requests: usize,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) dollars_per_million: f64,
}

pub(super) fn latencies(latencies: &BTreeMap<usize, Vec<Duration>>, item_sizes: &[usize]) -> Vec<Latency> {
    let units = units_per_signal(item_sizes);
    let row = |(size, took): (&usize, &Vec<Duration>)| {
        let mut took = took.clone();
        took.sort_unstable();
        let at = |percent| percentile(&took, percent);
        let (p50, p90, p99) = (at(50), at(90), at(99));
        Latency { batch_size: *size, requests: took.len(), p50, p90, p99, dollars_per_million: dollars(units, *size) }
    };
    latencies.iter().map(row).collect()
}

/// The write units of a signal, on average, by the sizes of the items that were read back.
#[expect(clippy::cast_precision_loss, reason = "an average for people")]
pub(super) fn units_per_signal(item_sizes: &[usize]) -> f64 {
    let units: usize = item_sizes.iter().map(|bytes| bytes.div_ceil(UNIT_BYTES)).sum();
    units as f64 / item_sizes.len().max(1) as f64
}

/// A million signals in batches of this size, each with a requestIdentifier, whose record is one write unit.
#[expect(clippy::cast_precision_loss, reason = "a sum for people")]
fn dollars(units: f64, batch_size: usize) -> f64 {
    let requests = 1.0 / batch_size.max(1) as f64;
    (units + requests) * WRITE_UNITS + requests * (GATEWAY_REQUESTS + LAMBDA_REQUESTS)
}

/// By the nearest rank, in milliseconds.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let rank = sorted.len().saturating_mul(percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).map_or(0.0, |took| took.as_secs_f64() * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "whole milliseconds")]
    fn percentiles_are_of_the_nearest_rank() {
        let took: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!([50, 90, 99].map(|percent| percentile(&took, percent)), [100.0, 180.0, 198.0]);
        assert_eq!(percentile(&[], 99), 0.0);
    }

    #[test]
    fn million_signals_in_batches_of_one_cost_what_the_documentation_says() {
        assert_eq!(format!("{:.2} {:.2}", dollars(1.0, 1), dollars(1.0, 500)), "2.45 0.63");
        assert_eq!(format!("{:.1}", units_per_signal(&[400, 1_025])), "1.5");
    }
}
