//! Instructions of the start, the first request and a warm request, by callgrind. Must not know which goals there are.
//!
//! Each count is a difference between runs that end while the function waits for its next event: nothing is under way then.

use anyhow::{Context as _, Result, ensure};
use hyper::body::Bytes;

use crate::process::{Mode, Process};
use crate::profile::Profile;
use crate::target::Target;

/// Requests until a function is warm.
const WARMED_UP: u64 = 3;

/// Warm requests, of which the mean is taken.
pub(crate) const WARM: u64 = 10;

/// How often a run is tried.
const ATTEMPTS: usize = 5;

/// Instructions of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions {
    /// From exec until it asks for its first event.
    pub(crate) start: u64,
    /// From there until it has responded and asks for its second event.
    pub(crate) first: Profile,
    pub(crate) warm: Profile,
}

impl Instructions {
    /// From exec through the first request.
    pub(crate) fn cold(&self) -> u64 {
        self.start.saturating_add(self.first.instructions)
    }
}

/// Counts the instructions of `target` for `event`, and of `requests` warm ones the mean.
pub(crate) async fn count(target: &Target, event: &Bytes, requests: u64) -> Result<Instructions> {
    let start = profile(target, event, 0).await?;
    let first = profile(target, event, 1).await?.per_request(start, 1);
    Ok(Instructions { start: start.instructions, first, warm: warm(target, event, requests).await? })
}

/// The mean of `requests` warm requests.
pub(crate) async fn warm(target: &Target, event: &Bytes, requests: u64) -> Result<Profile> {
    let few = profile(target, event, WARMED_UP).await?;
    let many = profile(target, event, WARMED_UP.saturating_add(requests)).await?;
    Ok(many.per_request(few, requests))
}

/// Instructions from exec until the function has served this many requests and waits for the next.
///
/// Callgrind makes a function some fifty times slower, and its timeouts stay the same: on a busy machine it closes a
/// connection during the handshake and opens another. Such a run is repeated.
pub(crate) async fn profile(target: &Target, event: &Bytes, requests: u64) -> Result<Profile> {
    for _ in 1..ATTEMPTS {
        if let Ok(profile) = profile_once(target, event, requests).await {
            return Ok(profile);
        }
    }
    let context = || format!("{} could not be counted; the machine may be too busy", target.name);
    profile_once(target, event, requests).await.with_context(context)
}

async fn profile_once(target: &Target, event: &Bytes, requests: u64) -> Result<Profile> {
    let mut process = Process::start(target, Mode::Callgrind).await?;
    for _ in 0..requests {
        process.invoke(event).await?;
    }
    let failed_handshakes = process.dynamodb.take_counts().failed_handshakes;
    ensure!(failed_handshakes == 0, "it closed a connection during the handshake");
    process.profile(None).await
}
