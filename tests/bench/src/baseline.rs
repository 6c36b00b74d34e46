//! The baseline: the committed instruction counts that later counts are compared with. Must not know how they are counted.
//!
//! It names the toolchain that it was counted with. Another compiler generates other instructions, so the margin is wider
//! there until its counts are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Error, Result};
use serde::{Deserialize, Serialize};

use crate::Counted;
use crate::instructions::Instructions;
use crate::target::{root, run};

/// By how many percent a count may differ from the baseline.
const MARGIN_PERCENT: u64 = 5;

/// The same where the compiler or valgrind is not the one that the baseline was counted with.
const MARGIN_OTHER_TOOLCHAIN_PERCENT: u64 = 15;

/// tests/bench/baseline.json.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    counted_with: Toolchain,
    /// Instructions by what was counted.
    pub(crate) instructions: BTreeMap<String, u64>,
}

/// What the number of instructions depends on beside the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Toolchain {
    rustc: String,
    valgrind: String,
    target: String,
}

impl Baseline {
    /// The counts of this run.
    pub(crate) fn from_counts(counted: &Counted) -> Result<Self> {
        let named = |(name, counted): &(&str, Instructions)| {
            let Instructions { start, first, warm } = counted;
            [("start", *start), ("first request", first.instructions), ("warm request", warm.instructions)]
                .map(|(what, count)| (format!("{name}: {what}"), count))
        };
        let version = |program| Ok::<_, Error>(run(Command::new(program).arg("--version"))?.trim().to_owned());
        let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        let counted_with = Toolchain { rustc: version("rustc")?, valgrind: version("valgrind")?, target };
        Ok(Self { counted_with, instructions: counted.iter().flat_map(named).collect() })
    }

    /// The committed baseline.
    pub(crate) fn read() -> Result<Self> {
        let text = std::fs::read_to_string(path()).context("there is no baseline: cargo bench -- --accept")?;
        serde_json::from_str(&text).context("tests/bench/baseline.json is malformed: cargo bench -- --accept")
    }

    /// Makes this the committed baseline.
    pub(crate) fn write(&self) -> Result<()> {
        Ok(std::fs::write(path(), serde_json::to_string_pretty(self)? + "\n")?)
    }

    /// Every count that is not within the margin of `committed`, in a sentence each.
    pub(crate) fn deviations(&self, committed: &Self) -> Vec<String> {
        let same = self.counted_with == committed.counted_with;
        let percent = if same { MARGIN_PERCENT } else { MARGIN_OTHER_TOOLCHAIN_PERCENT };
        let names: BTreeSet<_> = self.instructions.keys().chain(committed.instructions.keys()).collect();
        let compare = |name: &String| match (self.instructions.get(name), committed.instructions.get(name)) {
            (Some(counted), Some(expected)) => {
                let margin = expected.saturating_mul(percent) / 100;
                (counted.abs_diff(*expected) > margin).then(|| {
                    let word = if counted > expected { "more" } else { "fewer" };
                    let off = counted.abs_diff(*expected).saturating_mul(100).checked_div(*expected).unwrap_or(100);
                    format!("{name}: {counted} instructions, {off} % {word} than {expected} (margin {percent} %)")
                })
            }
            (Some(counted), None) => Some(format!("{name}: {counted} instructions, not in the baseline")),
            (None, _) => Some(format!("{name}: in the baseline, not counted")),
        };
        names.into_iter().filter_map(compare).collect()
    }
}

fn path() -> PathBuf {
    root().join("tests/bench/baseline.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(rustc: &str, count: u64) -> Baseline {
        let counted_with = Toolchain { rustc: rustc.into(), valgrind: "3".into(), target: "x".into() };
        Baseline { counted_with, instructions: BTreeMap::from([("customers: start".into(), count)]) }
    }

    #[test]
    fn count_within_the_margin_is_no_deviation() {
        assert_eq!(baseline("1", 1050).deviations(&baseline("1", 1000)), Vec::<String>::new());
        assert_eq!(
            baseline("1", 1060).deviations(&baseline("1", 1000)),
            ["customers: start: 1060 instructions, 6 % more than 1000 (margin 5 %)"]
        );
        assert_eq!(
            baseline("1", 900).deviations(&baseline("1", 1000)),
            ["customers: start: 900 instructions, 10 % fewer than 1000 (margin 5 %)"]
        );
    }

    #[test]
    fn another_compiler_has_a_wider_margin() {
        assert_eq!(baseline("2", 1100).deviations(&baseline("1", 1000)), Vec::<String>::new());
        assert_eq!(baseline("2", 1200).deviations(&baseline("1", 1000)).len(), 1);
    }
}
