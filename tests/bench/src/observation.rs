//! Time, memory and connections of a program without callgrind.

use std::time::Duration;

use anyhow::Result;
use hyper::body::Bytes;

use crate::process::MeasuredProcess;
use crate::program::Program;

/// Starts of which the median time is taken.
const STARTS: usize = 7;

/// Requests that warm up a process.
const WARM_UP: usize = 100;

/// Warm requests of which the median time is taken.
const REQUESTS: usize = 15;

/// Requests after which the memory is read.
const MEMORY_AFTER: usize = 16;

/// What a warm request costs, observed from outside the process.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// The median.
    pub(crate) time: Duration,
    /// The peak of resident memory, in bytes.
    pub(crate) memory: u64,
    /// Connections opened by all requests and the start.
    pub(crate) connections: u64,
}

/// Measures what a warm request with this event costs.
pub(crate) async fn measure_warm(program: &Program, event: &Bytes) -> Result<Observation> {
    let mut process = MeasuredProcess::start(program).await?;
    let mut times = Vec::new();
    let mut memory = 0;
    for number in 1..=WARM_UP + REQUESTS {
        let time = process.invoke(event).await?;
        times.push(time);
        if number == MEMORY_AFTER {
            memory = process.function.peak_memory()?;
        }
    }
    let time = median(times.split_off(WARM_UP));
    Ok(Observation {
        time,
        memory,
        connections: process.dynamodb.counts().connections,
    })
}

/// Measures how long it takes from exec until a process has responded to its first event. The result
/// is the median.
pub(crate) async fn measure_cold(program: &Program, event: &Bytes) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let mut process = MeasuredProcess::start(program).await?;
        let response = process.invoke(event).await?;
        times.push(process.start + response);
    }
    Ok(median(times))
}

/// The median of `times`; zero without any.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
