//! The baseline: the committed instruction counts that later counts are compared with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::program::root;

/// By how many percent a count may differ from the baseline: another valgrind or C library has
/// other counts.
const MARGIN_PERCENT: u64 = 10;

/// Instructions by what was counted.
pub(crate) type InstructionCounts = BTreeMap<String, u64>;

/// The committed counts.
pub(crate) fn read() -> Result<InstructionCounts> {
    let text =
        std::fs::read_to_string(path()).context("there is no baseline: cargo bench -- --accept")?;
    serde_json::from_str(&text)
        .context("tests/bench/baseline.json is malformed: cargo bench -- --accept")
}

/// Makes these the committed counts.
pub(crate) fn write(counts: &InstructionCounts) -> Result<()> {
    let text = serde_json::to_string_pretty(counts)? + "\n";
    std::fs::write(path(), text)?;
    Ok(())
}

/// Every count that is not within the margin of the `committed` one, in a sentence each.
pub(crate) fn deviations(counts: &InstructionCounts, committed: &InstructionCounts) -> Vec<String> {
    if !counts.keys().eq(committed.keys()) {
        return vec!["the baseline is of other workloads".to_owned()];
    }
    counts
        .iter()
        .zip(committed.values())
        .filter_map(|((name, count), committed)| deviation(name, *count, *committed))
        .collect()
}

/// How the count called `name` differs from the committed one, if it does.
fn deviation(name: &str, count: u64, committed: u64) -> Option<String> {
    let margin = committed * MARGIN_PERCENT / 100;
    if count.abs_diff(committed) <= margin {
        return None;
    }
    Some(format!(
        "{name}: {count} instructions, {committed} in the baseline (margin {MARGIN_PERCENT} %)"
    ))
}

fn path() -> PathBuf {
    root().join("tests/bench/baseline.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(count: u64) -> InstructionCounts {
        InstructionCounts::from([("Customer: start".into(), count)])
    }

    #[test]
    fn count_outside_the_margin_is_a_deviation_upwards_and_downwards() {
        let committed = counts(1_000);
        assert!(deviations(&counts(1_100), &committed).is_empty());
        assert_eq!(
            deviations(&counts(1_101), &committed),
            ["Customer: start: 1101 instructions, 1000 in the baseline (margin 10 %)"]
        );
        assert_eq!(deviations(&counts(899), &committed).len(), 1);
    }

    #[test]
    fn count_without_a_counterpart_is_a_deviation() {
        let none = InstructionCounts::new();
        for (counts, committed) in [(&counts(1), &none), (&none, &counts(1))] {
            assert_eq!(
                deviations(counts, committed),
                ["the baseline is of other workloads"]
            );
        }
    }
}
