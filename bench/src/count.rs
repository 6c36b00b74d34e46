//! Instructions of the start, the first request and a warm request, by callgrind. Must not know which goals there are.
//!
//! Each count is a difference between runs that end while the function waits for its next event: nothing is under way then.

use anyhow::{Result, anyhow};
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use crate::callgrind::Profile;
use crate::process::{Mode, Process};
use crate::target::Target;

/// How many requests are counted.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// Requests until a function is warm.
    warmed_up: u64,
    /// Warm requests, of which the mean is taken.
    warm: u64,
}

impl Spans {
    /// For functions in Rust.
    pub const LONG: Self = Self { warmed_up: 3, warm: 10 };
    /// For Python, which is slow under callgrind.
    pub const SHORT: Self = Self { warmed_up: 2, warm: 2 };
}

/// How often a run is tried.
const ATTEMPTS: usize = 5;

/// Instructions of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// From exec until it asks for its first event.
    pub start: u64,
    /// From there until it has responded and asks for its second event.
    pub first: u64,
    /// A warm request.
    pub warm: u64,
    /// The part of a warm request that is SHA-256.
    pub warm_sha256: u64,
}

impl Instructions {
    /// From exec through the first acknowledged write.
    pub fn cold(self) -> u64 {
        self.start.saturating_add(self.first)
    }

    /// A warm request without SHA-256: processors have instructions for it, callgrind does not.
    pub fn warm_without_sha256(self) -> u64 {
        self.warm.saturating_sub(self.warm_sha256)
    }
}

/// Counts the instructions of `target` for `event`, over TLS.
///
/// # Errors
/// When a response is not 200, or callgrind fails.
pub async fn count(target: &Target, event: &Bytes, spans: Spans) -> Result<Instructions> {
    let start = profile(target, event, 0).await?.instructions;
    let cold = profile(target, event, 1).await?.instructions;
    let few = profile(target, event, spans.warmed_up).await?;
    let many = profile(target, event, spans.warmed_up.saturating_add(spans.warm)).await?;
    let mean = |few: u64, many: u64| many.saturating_sub(few).checked_div(spans.warm).unwrap_or_default();
    Ok(Instructions {
        start,
        first: cold.saturating_sub(start),
        warm: mean(few.instructions, many.instructions),
        warm_sha256: mean(few.sha256(), many.sha256()),
    })
}

/// Instructions from exec until the function has served this many requests and waits for the next.
///
/// Callgrind makes a function some fifty times slower, and its timeouts stay the same: on a busy machine it closes a
/// connection during the handshake and opens another. A run with such a connection is repeated.
///
/// # Errors
/// When a response is not 200, callgrind fails, or the machine is too busy.
pub async fn profile(target: &Target, event: &Bytes, requests: u64) -> Result<Profile> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match profile_once(target, event, requests).await {
            Ok(Some(profile)) => return Ok(profile),
            Ok(None) => {}
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| anyhow!("it closed connections during the handshake each time"));
    Err(error.context(format!("{} could not be counted; the machine may be too busy", target.name)))
}

/// One run; `None` when the function closed a connection during its handshake.
async fn profile_once(target: &Target, event: &Bytes, requests: u64) -> Result<Option<Profile>> {
    let mut process = Process::start(target, Mode { callgrind: true, tls: true, ..Mode::default() }).await?;
    for _ in 0..requests {
        process.invoke(event).await?;
    }
    let failed_handshakes = process.dynamodb.take_counts().failed_handshakes;
    let profile = process.profile(None).await?;
    Ok((failed_handshakes == 0).then_some(profile))
}
