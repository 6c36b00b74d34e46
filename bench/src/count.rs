//! Instructions, by callgrind: of a start, of the first request, of a warm one.
//!
//! Each figure is a difference between runs that were ended while the function waited for its next event. A run ends
//! there because then nothing is half done.

use anyhow::{Result, anyhow};
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use crate::callgrind::Profile;
use crate::running::{Mode, Running};
use crate::subject::Subject;

/// How many requests a count takes.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// After so many a function is called warm.
    warmed_up: u64,
    /// Of so many the cost of a warm one is the mean.
    warm: u64,
}

impl Spans {
    /// For what is built of Rust.
    pub const LONG: Self = Self { warmed_up: 3, warm: 10 };
    /// For Python, which takes its time.
    pub const SHORT: Self = Self { warmed_up: 2, warm: 2 };
}

/// How often a run is made before its counts are given up.
const ATTEMPTS: usize = 5;

/// What a function spends, in instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// From exec until it asks for its first event.
    pub start: u64,
    /// From there until its first answer is given and it asks again.
    pub first: u64,
    /// A warm request.
    pub warm: u64,
    /// Of a warm request, SHA-256.
    pub warm_sha256: u64,
}

impl Instructions {
    /// From exec through the first acknowledged write.
    #[must_use]
    pub fn cold(self) -> u64 {
        self.start.saturating_add(self.first)
    }

    /// A warm request without SHA-256, which processors have instructions for and callgrind has not.
    #[must_use]
    pub fn warm_without_sha256(self) -> u64 {
        self.warm.saturating_sub(self.warm_sha256)
    }
}

/// Counts what `subject` spends on `event`, sent again and again, over TLS.
///
/// # Errors
/// When it does not answer, or callgrind does not count.
pub async fn count(subject: &Subject, event: &Bytes, spans: Spans) -> Result<Instructions> {
    let start = profile(subject, event, 0).await?.instructions;
    let cold = profile(subject, event, 1).await?.instructions;
    let few = profile(subject, event, spans.warmed_up).await?;
    let many = profile(subject, event, spans.warmed_up.saturating_add(spans.warm)).await?;
    let mean = |few: u64, many: u64| many.saturating_sub(few).checked_div(spans.warm).unwrap_or_default();
    Ok(Instructions {
        start,
        first: cold.saturating_sub(start),
        warm: mean(few.instructions, many.instructions),
        warm_sha256: mean(few.sha256(), many.sha256()),
    })
}

/// What a run of `requests` costs, from exec until the function asks for more.
///
/// Callgrind makes a function some fifty times slower and its time limits stay what they are: on a busy machine it gives
/// up a connection and opens another. Such a run counts what never happens, so it is made again.
///
/// # Errors
/// When it does not answer, callgrind does not count, or the machine is too busy for either.
pub async fn profile(subject: &Subject, event: &Bytes, requests: u64) -> Result<Profile> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match undisturbed(subject, event, requests).await {
            Ok(Some(profile)) => return Ok(profile),
            Ok(None) => {}
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| anyhow!("it gave up connections each time"));
    Err(error.context(format!("{} could not be counted; a busy machine is one reason", subject.name)))
}

/// A run, unless the function gave up a connection in it.
async fn undisturbed(subject: &Subject, event: &Bytes, requests: u64) -> Result<Option<Profile>> {
    let mut running = Running::start(subject, Mode { counted: true, tls: true, at_once: None }).await?;
    for _ in 0..requests {
        running.invoke(event).await?;
    }
    let failed_handshakes = running.dynamodb.take_counts().failed_handshakes;
    let profile = running.profile(None).await?;
    Ok((failed_handshakes == 0).then_some(profile))
}
