//! Time, processor time, memory, calls and connections of a function without callgrind. Must not know which goals there are.

use std::time::Duration;

use anyhow::Result;
use fault_proxy::{Fault, Plan};
use hyper::body::Bytes;
use sandbox::fake_dynamodb::Counts;

use crate::markdown::{Table, megabytes, milliseconds};
use crate::process::{Mode, Process};
use crate::target::Target;
use crate::{requests, step};

/// How long each call to DynamoDB takes where time is measured.
pub(crate) const DELAY: Duration = Duration::from_millis(5);

/// Requests of which the median time is taken.
const REQUESTS: usize = 15;

/// How many times as many requests warm up a process: V8 goes on compiling for a thousand customers, or 400 batches.
const WARM_UP: u32 = 3;

/// Starts of which the median is taken.
const STARTS: usize = 7;

/// Pairs of requests whose medians are compared.
const PAIRS: usize = 31;

/// The batch sizes of the growth: around 25, since a call has 25 signals, then wider apart.
const SIZES: [usize; 9] = [1, 10, 25, 26, 50, 100, 250, 400, 500];

/// What a request costs, observed from outside the process.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// The median of a warm request, with DynamoDB taking [`DELAY`] a call.
    pub(crate) duration: Duration,
    /// The peak of resident memory, in bytes.
    pub(crate) memory: u64,
    /// Connections opened by all requests and the start.
    pub(crate) connections: u64,
    /// Calls of one warm request.
    pub(crate) calls: u64,
}

impl Observation {
    /// In words.
    pub(crate) fn time(&self) -> String {
        let connections = if self.connections == 1 { "connection" } else { "connections" };
        format!("{}, {} {connections}", milliseconds(self.duration, 0), self.connections)
    }
}

/// Sends `event` to a warm process several times.
pub(crate) async fn observe(target: &Target, event: &Bytes) -> Result<Observation> {
    let mut process = Process::start(target, Mode::Alone).await?;
    process.dynamodb.set_delay(DELAY);
    process.invoke(event).await?;
    let mut connections = process.dynamodb.take_counts().connections;
    let (mut times, mut calls) = (Vec::new(), 0);
    for _ in 0..REQUESTS {
        times.push(process.invoke(event).await?);
        let counts = process.dynamodb.take_counts();
        connections = connections.saturating_add(counts.connections);
        calls = counts.calls();
    }
    Ok(Observation { duration: median(times), memory: process.function.peak_memory()?, connections, calls })
}

/// Processor time from exec through the first response, the median.
pub(crate) async fn cold(target: &Target, event: &Bytes) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let mut process = Process::start(target, Mode::Alone).await?;
        process.invoke(event).await?;
        times.push(process.function.threads_processor_time()?);
    }
    Ok(median(times))
}

/// The mean processor time of a warm request, and the writes of `requests` of them.
pub(crate) async fn warm(target: &Target, event: &Bytes, requests: u32) -> Result<(Duration, Counts)> {
    let mut process = Process::start(target, Mode::Alone).await?;
    let mut used = [Duration::ZERO; 2];
    let mut counts = Counts::default();
    for (used, requests) in used.iter_mut().zip([requests.saturating_mul(WARM_UP), requests]) {
        process.dynamodb.take_counts();
        for _ in 0..requests {
            process.invoke(event).await?;
        }
        *used = process.function.threads_processor_time()?;
        counts = process.dynamodb.take_counts();
    }
    let [before, after] = used;
    // An implementation may look up the key again, after a time of its own, and open a connection.
    counts.calls.remove("GetItem");
    counts.connections = 0;
    Ok((after.saturating_sub(before).checked_div(requests).unwrap_or_default(), counts))
}

/// What a throttled first attempt adds to the median of customer updates. The requests with and without it take turns, so
/// that other load on the machine affects both.
pub(crate) async fn throttled(customers: &Target) -> Result<Duration> {
    // Of UpdateItem: one call warms up; then one without a fault, a throttled one and its retry, and so on.
    let throttled = (0..PAIRS as u64).map(|pair| Fault::Throttled.at(pair * 3 + 3).of("UpdateItem"));
    let mut process = Process::start(customers, Mode::Faulty(Plan::of(throttled))).await?;
    let event = requests::customer()?;
    process.invoke(&event).await?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..PAIRS {
        for times in &mut times {
            times.push(process.invoke(&event).await?);
        }
    }
    let [undisturbed, throttled] = times.map(median);
    Ok(throttled.saturating_sub(undisturbed))
}

/// How cost grows from 1 to 500 signals, each size in a process of its own.
pub(crate) async fn growth(signals: &Target) -> Result<Table> {
    let mut table = Table::new("signals | time | peak memory | calls | connections");
    for (size, number) in SIZES.into_iter().zip(1..) {
        step(format!("measuring the growth, signals in a batch: {size} ({number} of {})", SIZES.len()));
        let observed = observe(signals, &requests::batch(size, None)?).await?;
        let [calls, connections] = [observed.calls, observed.connections].map(|count| count.to_string());
        let time = milliseconds(observed.duration, 1);
        table.row(&size.to_string(), [time, megabytes(observed.memory), calls, connections]);
    }
    Ok(table)
}

/// The median of `times`; zero without any.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
