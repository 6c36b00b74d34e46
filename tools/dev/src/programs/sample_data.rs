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

/// Has `cargo intake import` store the sample data in the tables of the stack.
///
/// # Errors
/// The files cannot be read, or `cargo intake` cannot be built or fails.
pub(crate) async fn store(programs: &Programs, operator: &OperatorProgram) -> Result<()> {
    let read = |name| {
        let path = programs.root.join("events/seed").join(name);
        std::fs::read_to_string(&path).with_context(|| format!("Cannot read {}", path.display()))
    };
    let customers = read("customers.ndjson")?;
    let signals = read("signals.ndjson")?;
    operator.build().await?;
    status("Storing sample customers and signals");
    let signals: Vec<&str> = signals.split_inclusive('\n').collect();
    let signals_per_day = signals.len().div_ceil(DAYS).max(1);
    import(operator, &customers, DAYS).await?;
    for (days_ago, day) in (0..DAYS).rev().zip(signals.chunks(signals_per_day)) {
        import(operator, &day.concat(), days_ago).await?;
    }
    Ok(())
}

async fn import(operator: &OperatorProgram, lines: &str, days_ago: usize) -> Result<()> {
    const CANNOT_WRITE: &str = "Cannot write a temporary file";
    // The command would also take an age, such as 3d. But it would count the age from its own
    // start.
    let age_millis = DAY_MILLIS * days_ago as u64;
    let received_at = Timestamp::now().millis().saturating_sub(age_millis);
    let received_at = Timestamp::from_millis(received_at);
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
