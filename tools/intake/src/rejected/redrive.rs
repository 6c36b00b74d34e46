//! `rejected redrive`: redrives the rejected signals that the operator names. Must not know how a
//! signal is stored.

mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::Tables;
use operator::rejected::redrive::{Candidate, Redrive, read_edited};

use self::report::RedriveReport;
use crate::output::Format;
use crate::time_args::time_or_age;

#[derive(Args, Debug)]
pub(crate) struct RedriveRejected {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only print what would become of the signals
    #[arg(long)]
    dry_run: bool,

    /// Redrive the signals of this file, with the payloads that it has
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "ids"])]
    from: Option<PathBuf>,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all
    /// that are kept]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = time_or_age)]
    since: Timestamp,

    /// Only signals with these ids, as `rejected list` shows them [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

impl RedriveRejected {
    pub(super) async fn run(&self, tables: &Tables, format: Format) -> Result<()> {
        let redrive = Redrive::new(tables, &self.account, self.dry_run);
        let mut report = RedriveReport::new(format, self.dry_run);
        let take = |redriven| report.add(&redriven);
        if let Some(file) = &self.from {
            redrive.run(&read_file(file)?, take).await?;
        } else {
            redrive.run_as_sent(self.since, &self.ids, take).await?;
        }
        report.finish()
    }
}

/// Reads the whole file: an operator edited it, so it fits into memory, and an invalid line must
/// stop the redrive before it begins.
fn read_file(file: &Path) -> Result<Vec<Candidate>> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("Cannot read {name}"))?;
    read_edited(&text, &name)
}
