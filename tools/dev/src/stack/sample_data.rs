//! The sample data of `--seed`: the customers and the signals of events/seed, which are imported as
//! `cargo intake import` does it. Must not know what is in them.

use std::num::NonZeroU64;

use anyhow::{Context as _, Result, ensure};
use emulator::development_key::ACCOUNT_ID;
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::Tables;
use operator::import::{Import, ImportFile, ImportKind, ImportMode};

use crate::files::Files;
use crate::terminal::status;

/// The days over which the signals are spread. The signals of the file are in the order of these
/// days, and each day has the same number of them.
const DAYS: usize = 7;

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// The files with the sample data, read.
pub(super) struct SampleData {
    customers: String,
    signals: String,
}

impl SampleData {
    /// # Errors
    /// A file cannot be read.
    pub(super) fn read(files: &Files) -> Result<Self> {
        let read = |name| {
            let path = files.root.join("events/seed").join(name);
            std::fs::read_to_string(&path)
                .with_context(|| format!("Cannot read {}", path.display()))
        };
        Ok(Self {
            customers: read("customers.ndjson")?,
            signals: read("signals.ndjson")?,
        })
    }

    /// Stores the sample data. The newest signals are received at `end`, and the others in the days
    /// before. With the same `end`, nothing is stored twice.
    ///
    /// # Errors
    /// A line is invalid, or the emulator failed.
    pub(super) async fn store(&self, tables: &Tables, end: Timestamp) -> Result<()> {
        status("Storing sample customers and signals");
        // How far a temporary file is imported says nothing to a developer.
        let tables = &Tables {
            note: |_| {},
            ..tables.clone()
        };
        let signals: Vec<&str> = self.signals.split_inclusive('\n').collect();
        let signals_per_day = signals.len().div_ceil(DAYS).max(1);
        let a_week_ago = days_before(end, DAYS);
        import(tables, ImportKind::Customers, &self.customers, a_week_ago).await?;
        for (days_ago, day) in (0..DAYS).rev().zip(signals.chunks(signals_per_day)) {
            let received_at = days_before(end, days_ago);
            import(tables, ImportKind::Signals, &day.concat(), received_at).await?;
        }
        Ok(())
    }
}

fn days_before(end: Timestamp, days: usize) -> Timestamp {
    let age_millis = DAY_MILLIS * days as u64;
    Timestamp::from_millis(end.millis().saturating_sub(age_millis))
}

/// Imports lines of customers or of signals, which were received at the same time.
async fn import(
    tables: &Tables,
    kind: ImportKind,
    lines: &str,
    received_at: Timestamp,
) -> Result<()> {
    const CANNOT_WRITE: &str = "Cannot write a temporary file";
    let folder = tempfile::tempdir().context(CANNOT_WRITE)?;
    let file = ImportFile {
        account: development_account(),
        path: folder.path().join("sample.ndjson"),
        received_at: Some(received_at),
        from_line: NonZeroU64::MIN,
        kind: Some(kind),
        source: Some("events/seed".to_owned()),
        mode: ImportMode::Store,
    };
    std::fs::write(&file.path, lines).context(CANNOT_WRITE)?;
    let mut import = Import::new(tables, &file)?;
    import.run().await?;
    let counts = import.report().counts();
    ensure!(
        counts.invalid == 0 && counts.expired == 0,
        "The sample data could not be stored: {} lines of events/seed are invalid, and {} signals would already be \
         expired.",
        counts.invalid,
        counts.expired
    );
    Ok(())
}

fn development_account() -> AccountId {
    ACCOUNT_ID
        .parse()
        .expect("the constant is a valid account id")
}
