//! What was measured: latencies as the client sees them, and what a million signals would have cost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

/// Prices of us-east-1 for a million, in dollars: a write unit on demand, a request to an HTTP API, a request to Lambda.
const WRITE_UNITS: f64 = 0.625;
const GATEWAY_REQUESTS: f64 = 1.0;
const LAMBDA_REQUESTS: f64 = 0.2;

/// The bytes of a write unit.
const UNIT_BYTES: usize = 1_024;

/// How long the first attempt of a batch took.
#[derive(Clone)]
pub(super) struct Sample {
    pub(super) size: usize,
    /// Lambda's id of the request.
    pub(super) request_id: String,
    pub(super) took: Duration,
}

/// How long requests with batches of one size took, in milliseconds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Latency {
    pub(super) batch_size: usize,
    /// Whether the process was new; absent where that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cold: Option<bool>,
    pub(super) requests: usize,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) dollars_per_million: f64,
}

/// `cold` are the ids of requests that started a process, where the logs say so.
pub(super) fn latencies(samples: &[Sample], cold: Option<&BTreeSet<String>>, item_sizes: &[usize]) -> Vec<Latency> {
    let units = units_per_signal(item_sizes);
    let mut groups: BTreeMap<(usize, Option<bool>), Vec<Duration>> = BTreeMap::new();
    for sample in samples {
        let is_cold = cold.map(|cold| cold.contains(&sample.request_id));
        groups.entry((sample.size, is_cold)).or_default().push(sample.took);
    }
    let row = |((batch_size, cold), mut took): ((usize, Option<bool>), Vec<Duration>)| {
        took.sort_unstable();
        let [p50, p90, p99] = [50, 90, 99].map(|percent| percentile(&took, percent));
        let dollars_per_million = dollars(units, batch_size);
        Latency { batch_size, cold, requests: took.len(), p50, p90, p99, dollars_per_million }
    };
    groups.into_iter().map(row).collect()
}

impl Latency {
    /// Whether the process was new, for people.
    pub(super) fn start(&self) -> &'static str {
        match self.cold {
            None => "any",
            Some(true) => "cold",
            Some(false) => "warm",
        }
    }
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
    fn requests_that_started_a_process_are_counted_apart() {
        let sample = |id: &str, took| Sample { size: 25, request_id: id.to_owned(), took: Duration::from_millis(took) };
        let samples = [sample("a", 90), sample("b", 10), sample("c", 20)];
        let rows = latencies(&samples, Some(&BTreeSet::from(["a".to_owned()])), &[400]);
        let rows: Vec<_> = rows.iter().map(|row| (row.start(), row.requests, format!("{:.0}", row.p99))).collect();
        assert_eq!(rows, [("warm", 2, "20".to_owned()), ("cold", 1, "90".to_owned())]);
        assert_eq!(latencies(&samples, None, &[400])[0].start(), "any");
    }

    #[test]
    fn million_signals_in_batches_of_one_cost_what_the_documentation_says() {
        assert_eq!(format!("{:.2} {:.2}", dollars(1.0, 1), dollars(1.0, 500)), "2.45 0.63");
        assert_eq!(format!("{:.1}", units_per_signal(&[400, 1_025])), "1.5");
    }
}
