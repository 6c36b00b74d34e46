//! Reads what callgrind wrote: instructions, in total and by function. Must not know how it came about.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

/// Instructions of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// In total.
    pub instructions: u64,
    /// By function, without the functions that it called.
    pub functions: BTreeMap<String, u64>,
}

impl Profile {
    /// Parses a file of callgrind, with neither names nor positions compressed.
    ///
    /// # Errors
    /// When it has no total.
    pub fn parse(text: &str) -> Result<Self> {
        let mut profile = Self::default();
        let (mut function, mut is_call, mut total) = (String::new(), false, None);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                name.clone_into(&mut function);
            } else if line.starts_with("calls=") {
                // The next line is the cost of the called function.
                is_call = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or_default();
                if !std::mem::take(&mut is_call) {
                    let sum = profile.functions.entry(function.clone()).or_default();
                    *sum = sum.saturating_add(cost);
                }
            } else if let Some(sum) = line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:")) {
                total = sum.trim().parse().ok().or(total);
            }
        }
        profile.instructions = total.context("callgrind's file has no total")?;
        Ok(profile)
    }

    /// Instructions of SHA-256, whichever crate implements it.
    pub fn sha256(&self) -> u64 {
        let named = |name: &str| name.contains("sha256") || name.contains("Sha256");
        self.functions.iter().filter(|(name, _)| named(name)).map(|(_, cost)| cost).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_not_counted_as_the_callers_instructions() {
        let text = "fn=main\n1 10\ncalls=2 5\n2 700\n3 20\nfn=sha256_block\n5 700\n\ntotals: 730\n";
        let profile = Profile::parse(text).unwrap();
        assert_eq!((profile.instructions, profile.sha256()), (730, 700));
        assert_eq!(profile.functions["main"], 30);
    }
}
