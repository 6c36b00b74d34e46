//! Time, memory, calls and connections of a function without callgrind. Must not know which goals there are.

use std::time::Duration;

use anyhow::Result;
use hyper::body::Bytes;
use testkit::fake_dynamodb::Counts;

use crate::process::{Mode, Process};
use crate::target::Target;

/// How long each call to DynamoDB takes where time is measured.
pub const DELAY: Duration = Duration::from_millis(5);

/// Requests of which the throughput is measured.
const THROUGHPUT_REQUESTS: u32 = 400;

/// Requests of which the median time is taken.
const REQUESTS: usize = 15;

/// What a request costs, observed from outside the process.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The median of a warm request, with DynamoDB taking [`DELAY`] a call.
    pub duration: Duration,
    /// The peak of resident memory, in bytes.
    pub memory: u64,
    /// Connections opened by all requests and the start.
    pub connections: u64,
    /// Calls and write units of one warm request.
    pub counts: Counts,
}

/// Sends `event` to a warm process several times.
///
/// # Errors
/// When a response is not 200.
pub async fn observe(target: &Target, event: &Bytes, tls: bool) -> Result<Observation> {
    let mut process = Process::start(target, Mode { tls, ..Mode::default() }).await?;
    process.dynamodb.set_delay(DELAY);
    process.invoke(event).await?;
    let mut connections = process.dynamodb.take_counts().connections;
    let (mut times, mut counts) = (Vec::new(), Counts::default());
    for _ in 0..REQUESTS {
        times.push(process.invoke(event).await?.duration);
        counts = process.dynamodb.take_counts();
        connections = connections.saturating_add(counts.connections);
    }
    Ok(Observation { duration: median(times), memory: process.peak_memory()?, connections, counts })
}

/// Requests a second that a process serves, `concurrency` of them at once.
///
/// # Errors
/// When a response is not 200.
pub async fn throughput(target: &Target, event: &Bytes, concurrency: u16) -> Result<f64> {
    let process = Process::start(target, Mode { tls: true, concurrency: Some(concurrency), ..Mode::default() }).await?;
    process.dynamodb.set_delay(DELAY);
    // This opens the connections, which are not measured.
    process.invoke_many(event, u32::from(concurrency), concurrency).await?;
    let duration = process.invoke_many(event, THROUGHPUT_REQUESTS, concurrency).await?;
    Ok(f64::from(THROUGHPUT_REQUESTS) / duration.as_secs_f64())
}

/// The median of `times`; zero without any.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
