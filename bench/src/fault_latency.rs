//! What a transient fault adds to the time of a request: its call is sent again after a short backoff. Must not know how long
//! that may take.

use std::time::Duration;

use anyhow::Result;
use testkit::fault_proxy::{Fault, Plan};

use crate::observation::median;
use crate::process::{Mode, Process};
use crate::requests;
use crate::target::Target;

/// Pairs of requests whose medians are compared.
const PAIRS: usize = 31;

/// What a throttled first attempt adds to the median of customer updates. The requests with and without it take turns, so
/// that other load on the machine affects both.
///
/// # Errors
/// When a response is not 200.
pub async fn measure(customers: &Target) -> Result<Duration> {
    // Of UpdateItem: one call warms up; then one without a fault, a throttled one and its retry, and so on.
    let throttled = (0..PAIRS as u64).map(|pair| Fault::Throttled.at(pair * 3 + 3).of("UpdateItem"));
    let mut process = Process::start_behind(customers, Mode::default(), Some(Plan::of(throttled))).await?;
    let event = requests::customer()?;
    process.invoke(&event).await?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..PAIRS {
        for times in &mut times {
            times.push(process.invoke(&event).await?.duration);
        }
    }
    let [undisturbed, throttled] = times.map(median);
    Ok(throttled.saturating_sub(undisturbed))
}
