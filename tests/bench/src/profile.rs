//! What callgrind counted in one run. Must not know what was run.

use anyhow::{Context as _, Result};

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
    pub(crate) fn per_request(self, fewer: Self, requests: u64) -> Self {
        let mean = |many: u64, few: u64| many.saturating_sub(few).checked_div(requests).unwrap_or_default();
        Self { instructions: mean(self.instructions, fewer.instructions), sha256: mean(self.sha256, fewer.sha256) }
    }

    /// Without SHA-256: processors have instructions for it, callgrind does not.
    pub(crate) fn without_sha256(self) -> u64 {
        self.instructions.saturating_sub(self.sha256)
    }
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
