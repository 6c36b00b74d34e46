//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;

use crate::build::{Build, build_release};
use crate::conditions::Condition;
use crate::measurement::PlannedRun;
use crate::request_kind::RequestKind;

/// How long the run without a fault lasts at most.
const CONTROL: Duration = Duration::from_secs(10);

/// Measures what requests get while DynamoDB fails, and how many environments they hold at once.
///
/// Release programs of one or two builds run side by side. Updates of customers and batches of 1 to
/// 5 signals are sent at a constant rate, by clients that never retry, in each condition of
/// DynamoDB; SQS and S3 are available. Prints a table in Markdown. Ends with 1 if a run without a
/// fault deferred anything, or if the measured build (not the one that it is compared with) lost an
/// acknowledged request or did not acknowledge one.
///
/// Each kind and rate begins with a run without a fault: whatever it defers is the fault of a busy
/// machine, and then the other rows say nothing either.
#[derive(Debug, Parser)]
#[command(name = "outages", after_help = EXAMPLES)]
pub(crate) struct OutageOptions {
    /// The folder with the release programs `customers`, `signals` and `overflow` [default: they
    /// are built from this working tree]
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
    /// Another such folder, which is measured beside the first
    #[arg(long, value_name = "DIR")]
    compare_with: Option<PathBuf>,
    /// Requests a second
    #[arg(long, value_delimiter = ',', default_values_t = [20, 100], value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rates: Vec<u32>,
    /// How long each fault lasts, or is repeated
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
    /// Only the runs whose line in --list contains this text, and those without a fault of the same
    /// kind and rate
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Lists the runs, and does none
    #[arg(long)]
    pub(crate) list: bool,
}

const EXAMPLES: &str = "\
Examples:
  The tables of docs/outages.md, for this working tree (12 minutes):
    cargo run --profile bench --locked --bin outages -- --rates 100 --seconds 6
  One condition, for updates of customers at 20 requests a second:
    cargo run --profile bench --locked --bin outages -- --only 'updates, 20/s: outage: hangs'
  Two builds side by side:
    cargo build --release --locked -p customers -p signals -p overflow
    cargo run --profile bench --locked --bin outages -- --functions target/release --compare-with /tmp/before";

impl OutageOptions {
    /// What is measured, in this order.
    pub(crate) fn runs(&self) -> Result<Vec<PlannedRun>> {
        let lasts = Duration::from_secs(self.seconds);
        let mut runs = Vec::new();
        for kind in RequestKind::ALL {
            for rate in &self.rates {
                let run = |condition, lasts| PlannedRun {
                    kind,
                    rate: *rate,
                    condition,
                    lasts,
                };
                let mut faulted = Vec::new();
                for condition in Condition::all(kind) {
                    let run = run(condition, lasts);
                    if self.includes(&run) {
                        faulted.push(run);
                    }
                }
                let control = run(Condition::control(), lasts.min(CONTROL));
                if !faulted.is_empty() || self.includes(&control) {
                    runs.push(control);
                }
                runs.append(&mut faulted);
            }
        }
        ensure!(
            !runs.is_empty(),
            "no run contains {}; --list lists them",
            self.only.join(" or ")
        );
        Ok(runs)
    }

    fn includes(&self, run: &PlannedRun) -> bool {
        let label = run.label().to_lowercase();
        let mut patterns = self.only.iter().map(|pattern| pattern.to_lowercase());
        self.only.is_empty() || patterns.any(|pattern| label.contains(&pattern))
    }

    /// The builds: the measured one, then the one that it is compared with.
    pub(crate) fn builds(&self) -> Result<Vec<Build>> {
        let folder = match &self.functions {
            Some(folder) => folder.clone(),
            None => build_release()?,
        };
        let mut builds = vec![Build::new("measured", &folder)?];
        if let Some(folder) = &self.compare_with {
            builds.push(Build::new("compared", folder)?);
        }
        Ok(builds)
    }
}
