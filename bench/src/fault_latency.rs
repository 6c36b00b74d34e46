//! What a transient fault adds to the time of a request: its call is sent again after a short backoff.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::function_process::FunctionProcess;
use testkit::{RequestBuilder, TestApp, emulator_options};

use crate::growth::milliseconds;
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
    #[must_use]
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
    let app = TestApp::start();
    let key = app.key("shop").await;
    let call = RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "Ulm"}}));
    let event = call.key(&key).event();
    // Calls: 1 warms up; then one call without a fault, a throttled one and its retry, and so on.
    let throttled = (0..PAIRS as u64).map(|pair| Fault::Throttled.at(pair.saturating_mul(3).saturating_add(3)));
    let plan = Plan::of(throttled.map(|rule| rule.of("UpdateItem")));
    let proxy = FaultProxy::start(&app.emulator.endpoint(), plan).await;
    let process = FunctionProcess::start(&emulator_options(&customers.program, &proxy.endpoint())).await?;
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

async fn timed(process: &FunctionProcess, event: &str) -> Result<Duration> {
    let started = Instant::now();
    let response = process.invoke(event.to_owned()).await?.json();
    ensure!(response["statusCode"] == 200, "the response is not 200: {response}");
    Ok(started.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
