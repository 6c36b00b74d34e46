//! What a transient fault adds to the time of a request: its call is sent again after a short backoff.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hyper::body::Bytes;
use testkit::fake_dynamodb::FakeDynamoDb;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::function_process::{FunctionProcess, ProcessOptions};

use crate::growth::milliseconds;
use crate::process::TABLES;
use crate::requests;
use crate::target::Target;

/// Pairs of requests whose medians are compared.
const PAIRS: usize = 31;

/// Times of a customer update.
#[derive(Clone, Copy, Debug)]
pub struct FaultLatency {
    /// The median without a fault.
    pub undisturbed: Duration,
    /// The median with a throttled first attempt.
    pub throttled: Duration,
}

impl FaultLatency {
    /// A row of the table of goals, as Markdown.
    pub fn row(&self) -> String {
        let added = milliseconds(self.throttled.saturating_sub(self.undisturbed));
        format!("| a throttled call of a customer adds, median | 30 ms | {added:.0} ms | | |\n")
    }
}

/// Measures customer updates with and without a throttled call, in turns, so that other load on the machine affects both.
///
/// # Errors
/// When an update is not answered with 200.
pub async fn measure(customers: &Target) -> Result<FaultLatency> {
    let dynamodb = FakeDynamoDb::start(None).await?;
    // Of UpdateItem: one call warms up; then one without a fault, a throttled one and its retry, and so on.
    let throttled = (0..PAIRS as u64).map(|pair| Fault::Throttled.at(pair * 3 + 3).of("UpdateItem"));
    let proxy = FaultProxy::start(&format!("http://{}", dynamodb.address()), Plan::of(throttled)).await;
    let variables = TABLES.map(|(name, value)| (name.to_owned(), value.into()));
    let options = ProcessOptions::new(&customers.program, proxy.endpoint());
    let process = FunctionProcess::start(&ProcessOptions { variables: variables.into(), ..options }).await?;
    let event = requests::customer()?;
    let mut times = [Vec::new(), Vec::new()];
    timed(&process, &event).await?;
    for _ in 0..PAIRS {
        for times in &mut times {
            times.push(timed(&process, &event).await?);
        }
    }
    let [undisturbed, throttled] = times.map(median);
    Ok(FaultLatency { undisturbed, throttled })
}

async fn timed(process: &FunctionProcess, event: &Bytes) -> Result<Duration> {
    let started = Instant::now();
    let response = process.invoke(event.clone()).await?.json();
    ensure!(response["statusCode"] == 200, "the response is not 200: {response}");
    Ok(started.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
