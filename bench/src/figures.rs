//! The committed figures: instructions that a change may not exceed unseen.
//!
//! They hold for the toolchain that is named beside them. Another compiler lays out other instructions, so under another
//! one the margin is wider; it is narrow again once the figures are accepted there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::count::Instructions;
use crate::subject::root;

/// By how many percent a count may lie above or below its figure.
const MARGIN_PERCENT: u64 = 5;

/// By how many where the compiler or valgrind is not the one that the figures were counted with.
const MARGIN_ELSEWHERE_PERCENT: u64 = 15;

/// The file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// What they were counted with.
    pub counted_with: Toolchain,
    /// By what was counted.
    pub instructions: BTreeMap<String, u64>,
}

/// What decides how many instructions the same source has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    rustc: String,
    valgrind: String,
    target: String,
}

impl Toolchain {
    /// The one that is installed here.
    ///
    /// # Errors
    /// When `rustc` or `valgrind` cannot be asked.
    pub fn here() -> Result<Self> {
        let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        Ok(Self { rustc: version("rustc")?, valgrind: version("valgrind")?, target })
    }
}

fn version(program: &str) -> Result<String> {
    let missing = || format!("{program} cannot be started; on Debian, valgrind comes by: apt-get install valgrind");
    let output = Command::new(program).arg("--version").output().with_context(missing)?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

impl Figures {
    /// Figures counted here and now.
    ///
    /// # Errors
    /// When the toolchain cannot be asked what it is.
    pub fn of(counted: &[(&str, Instructions)]) -> Result<Self> {
        let named = |(name, counted): &(&str, Instructions)| {
            [("start", counted.start), ("first request", counted.first), ("warm request", counted.warm)]
                .map(|(what, count)| (format!("{name}: {what}"), count))
        };
        Ok(Self { counted_with: Toolchain::here()?, instructions: counted.iter().flat_map(named).collect() })
    }

    /// The committed ones.
    ///
    /// # Errors
    /// When there are none yet, or they cannot be read.
    pub fn committed() -> Result<Self> {
        let text = std::fs::read_to_string(path()).context("there are no figures yet: cargo bench -- --accept")?;
        serde_json::from_str(&text).context("bench/figures.json is ill-formed: cargo bench -- --accept")
    }

    /// Makes these the committed ones.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn accept(&self) -> Result<()> {
        Ok(std::fs::write(path(), serde_json::to_string_pretty(self)? + "\n")?)
    }

    /// Every count of these that is not as `committed` says, in a sentence each.
    #[must_use]
    pub fn deviations(&self, committed: &Self) -> Vec<String> {
        let same = self.counted_with == committed.counted_with;
        let percent = if same { MARGIN_PERCENT } else { MARGIN_ELSEWHERE_PERCENT };
        let names =
            self.instructions.keys().chain(committed.instructions.keys()).collect::<std::collections::BTreeSet<_>>();
        let compare = |name: &String| match (self.instructions.get(name), committed.instructions.get(name)) {
            (Some(counted), Some(figure)) => {
                let margin = figure.saturating_mul(percent) / 100;
                (counted.abs_diff(*figure) > margin).then(|| {
                    let word = if counted > figure { "more" } else { "fewer" };
                    let off = counted.abs_diff(*figure).saturating_mul(100).checked_div(*figure).unwrap_or(100);
                    format!("{name}: {counted} instructions, {off} % {word} than {figure} (margin {percent} %)")
                })
            }
            (Some(counted), None) => Some(format!("{name}: {counted} instructions, and no figure to compare with")),
            (None, _) => Some(format!("{name}: has a figure but was not counted")),
        };
        names.into_iter().filter_map(compare).collect()
    }
}

fn path() -> PathBuf {
    root().join("bench/figures.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(rustc: &str, count: u64) -> Figures {
        let counted_with = Toolchain { rustc: rustc.into(), valgrind: "3".into(), target: "x".into() };
        Figures { counted_with, instructions: BTreeMap::from([("customers: start".into(), count)]) }
    }

    #[test]
    fn a_count_within_the_margin_is_no_deviation() {
        assert_eq!(figures("1", 1050).deviations(&figures("1", 1000)), Vec::<String>::new());
        assert_eq!(
            figures("1", 1060).deviations(&figures("1", 1000)),
            ["customers: start: 1060 instructions, 6 % more than 1000 (margin 5 %)"]
        );
        assert_eq!(
            figures("1", 900).deviations(&figures("1", 1000)),
            ["customers: start: 900 instructions, 10 % fewer than 1000 (margin 5 %)"]
        );
    }

    #[test]
    fn another_compiler_has_a_wider_margin() {
        assert_eq!(figures("2", 1100).deviations(&figures("1", 1000)), Vec::<String>::new());
        assert_eq!(figures("2", 1200).deviations(&figures("1", 1000)).len(), 1);
    }
}
