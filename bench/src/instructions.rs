//! Instructions of the start, the first request and a warm request, by callgrind. Must not know which goals there are.
//!
//! Each count is a difference between runs that end while the function waits for its next event: nothing is under way then.

use anyhow::{Context as _, Result, ensure};
use hyper::body::Bytes;

use crate::process::{Mode, Process};
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

/// What callgrind counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) instructions: u64,
    /// The part that is SHA-256, whichever crate implements it.
    pub(crate) sha256: u64,
}

impl Profile {
    /// Reads a file of callgrind with neither names nor positions compressed.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (mut is_sha256, mut is_call, mut sha256, mut total) = (false, false, 0_u64, None);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                is_sha256 = name.contains("sha256") || name.contains("Sha256");
            } else if line.starts_with("calls=") {
                // The next line is the cost of the called function.
                is_call = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                let cost: u64 = line.split(' ').nth(1).and_then(|cost| cost.parse().ok()).unwrap_or_default();
                if !std::mem::take(&mut is_call) && is_sha256 {
                    sha256 = sha256.saturating_add(cost);
                }
            } else if let Some(sum) = line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:")) {
                total = sum.trim().parse().ok().or(total);
            }
        }
        Ok(Self { instructions: total.context("callgrind's file has no total")?, sha256 })
    }

    /// The mean of the `requests` that this run has more than `fewer`.
    fn per_request(self, fewer: Self, requests: u64) -> Self {
        let mean = |many: u64, few: u64| many.saturating_sub(few).checked_div(requests).unwrap_or_default();
        Self { instructions: mean(self.instructions, fewer.instructions), sha256: mean(self.sha256, fewer.sha256) }
    }

    /// Without SHA-256: processors have instructions for it, callgrind does not.
    pub(crate) fn without_sha256(self) -> u64 {
        self.instructions.saturating_sub(self.sha256)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_not_counted_as_the_callers_instructions() {
        let text = "fn=Sha256::update\n1 10\ncalls=2 5\n2 700\n3 20\nfn=main\n5 700\n\ntotals: 730\n";
        assert_eq!(Profile::parse(text).unwrap(), Profile { instructions: 730, sha256: 30 });
    }
}
