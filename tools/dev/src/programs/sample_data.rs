//! The sample data of `--seed`: the customers and the signals of events/seed, which `cargo intake
//! import` stores. Must not know what is in them.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use emulator::development_key::ACCOUNT_ID;
use model::timestamp::Timestamp;

use crate::programs::Programs;
use crate::programs::operator::OperatorProgram;
use crate::programs::process;
use crate::terminal::status;

/// The days over which the signals are spread. The signals of the file are in the order of these
/// days, and each day has the same number of them.
const DAYS: usize = 7;

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// The files with the sample data, read.
pub(crate) struct SampleData {
    customers: String,
    signals: String,
}

impl SampleData {
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn read(programs: &Programs) -> Result<Self> {
        let read = |name| {
            let path = programs.root.join("events/seed").join(name);
            std::fs::read_to_string(&path)
                .with_context(|| format!("Cannot read {}", path.display()))
        };
        Ok(Self {
            customers: read("customers.ndjson")?,
            signals: read("signals.ndjson")?,
        })
    }

    /// Has `cargo intake import`, which must be built, store the sample data in the tables of the
    /// stack. The newest signals are received at `end`, and the others in the days before. With the
    /// same `end`, nothing is stored twice.
    ///
    /// # Errors
    /// `cargo intake` fails.
    pub(crate) async fn store(&self, operator: &OperatorProgram, end: Timestamp) -> Result<()> {
        status("Storing sample customers and signals");
        let signals: Vec<&str> = self.signals.split_inclusive('\n').collect();
        let signals_per_day = signals.len().div_ceil(DAYS).max(1);
        import(operator, &self.customers, days_before(end, DAYS)).await?;
        for (days_ago, day) in (0..DAYS).rev().zip(signals.chunks(signals_per_day)) {
            import(operator, &day.concat(), days_before(end, days_ago)).await?;
        }
        Ok(())
    }
}

fn days_before(end: Timestamp, days: usize) -> Timestamp {
    let age_millis = DAY_MILLIS * days as u64;
    Timestamp::from_millis(end.millis().saturating_sub(age_millis))
}

async fn import(operator: &OperatorProgram, lines: &str, received_at: Timestamp) -> Result<()> {
    const CANNOT_WRITE: &str = "Cannot write a temporary file";
    let folder = tempfile::tempdir().context(CANNOT_WRITE)?;
    let file = folder.path().join("sample.ndjson");
    std::fs::write(&file, lines).context(CANNOT_WRITE)?;
    let mut command = operator.command(&["import"]);
    command
        .arg(&file)
        .args([
            "--account",
            ACCOUNT_ID,
            "--received-at",
            &received_at.to_string(),
        ])
        .stdout(Stdio::null());
    let is_stored = process::run(command).await?;
    ensure!(
        is_stored,
        "The sample data could not be stored: the output above says why."
    );
    Ok(())
}
