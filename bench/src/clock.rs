//! Time, memory, calls and connections of a function that runs as itself.

use std::time::Duration;

use anyhow::Result;
use hyper::body::Bytes;

use crate::running::{Mode, Running};
use crate::subject::Subject;
use testkit::fake_dynamodb::Counts;

/// How long each call to DynamoDB takes where time is measured.
pub const DELAY: Duration = Duration::from_millis(5);

/// Requests whose throughput is taken.
const MANY: u32 = 400;

/// Requests whose median is taken.
const REQUESTS: usize = 15;

/// What a request is, seen from outside.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The median of a warm one, DynamoDB taking [`DELAY`] a call.
    pub took: Duration,
    /// The most memory resident after all of them, in bytes.
    pub memory: u64,
    /// Connections opened by all of them, the start included.
    pub connections: u64,
    /// What one warm request called and wrote.
    pub counts: Counts,
}

/// Sends `event` again and again.
///
/// # Errors
/// When it is not answered.
pub async fn observe(subject: &Subject, event: &Bytes, tls: bool) -> Result<Seen> {
    let mut running = Running::start(subject, Mode { tls, ..Mode::default() }).await?;
    running.dynamodb.set_delay(DELAY);
    running.invoke(event).await?;
    let mut connections = running.dynamodb.take_counts().connections;
    let (mut times, mut counts) = (Vec::new(), Counts::default());
    for _ in 0..REQUESTS {
        times.push(running.invoke(event).await?.duration);
        counts = running.dynamodb.take_counts();
        connections = connections.saturating_add(counts.connections);
    }
    times.sort_unstable();
    let took = times.get(REQUESTS / 2).copied().unwrap_or_default();
    Ok(Seen { took, memory: running.peak_memory()?, connections, counts })
}

/// How many requests of this kind a process does in a second, with `at_once` of them under way at any time.
///
/// # Errors
/// When one is not answered.
pub async fn throughput(subject: &Subject, event: &Bytes, at_once: u16) -> Result<f64> {
    let running = Running::start(subject, Mode { tls: true, at_once: Some(at_once), ..Mode::default() }).await?;
    running.dynamodb.set_delay(DELAY);
    // Connections are opened outside of what is measured.
    running.invoke_many(event, u32::from(at_once), at_once).await?;
    let took = running.invoke_many(event, MANY, at_once).await?;
    Ok(f64::from(MANY) / took.as_secs_f64())
}
