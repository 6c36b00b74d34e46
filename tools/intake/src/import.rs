//! `import`: stores the customers or signals of a file, and says what became of its lines. Must not
//! know how a line is stored.

mod summary;

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::import::{Import, ImportFile};

use self::summary::print_summary;
use crate::interrupt::until_interrupted;
use crate::output::{Format, note};
use crate::program_name::own_name;
use crate::stack::Stack;
use crate::time_args::fixed_time;

const EXAMPLES: &str = "\
Examples:
  cargo intake --stack intake-prod import --account shop signals-with-times.ndjson
  cargo intake --stack intake-prod import --account shop --received-at 2026-01-01 signals-of-last-year.ndjson

Each line is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it, or a line
of `signals list --all --json` or `customers show --json`; the first line decides which. A line's own receivedAt or updatedAt wins
over --received-at. A customer of whom a newer update is stored is skipped; a signal that would already be expired is not stored.

The same import stores nothing twice, so run it again after an interruption; Ctrl-C and an error print the command that continues.
The import writes FILE.errors.ndjson beside FILE, with the number and the errors of each rejected line.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImportArgs {
    /// The account of the customers or signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The time at which lines without a time of their own arrived, such as 2026-11-20 or
    /// 2026-11-20T22:16:40Z
    #[arg(long, value_name = "TIME", value_parser = fixed_time)]
    received_at: Option<Timestamp>,

    /// Leave out the lines before this one, as the command does that an interrupted import prints
    #[arg(long, value_name = "N", default_value = "1")]
    from_line: NonZeroU64,

    /// The file, with one JSON object on each line
    file: PathBuf,
}

impl ImportArgs {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let file = ImportFile {
            account: self.account,
            path: self.file,
            received_at: self.received_at,
            from_line: self.from_line,
        };
        let tables = stack.tables()?;
        let mut import = Import::new(&tables, &file)?;
        let work = Box::pin(import.run());
        let finished = until_interrupted(work).await;
        let stored = finished.and_then(|stored| stored.context("Interrupted."));
        if stored.is_err() {
            let command = command_from(&file, import.next_line(), stack);
            note(&format!("To continue: {command}"));
        }
        stored?;
        let report = import.report();
        print_summary(report, format)?;
        ensure!(
            report.is_success(),
            "No line of {} was stored.",
            file.path.display()
        );
        Ok(())
    }
}

/// The command that imports the lines of a file from `line` on.
fn command_from(file: &ImportFile, line: u64, stack: &Stack) -> String {
    let stack_arguments = &stack.arguments;
    let account = &file.account;
    let received_at = file
        .received_at
        .map(|time| format!(" --received-at {time}"))
        .unwrap_or_default();
    let quoted_file = file.path.to_string_lossy().replace('\'', r"'\''");
    format!(
        "{}{stack_arguments} import --account {account}{received_at} --from-line {line} '{quoted_file}'",
        own_name()
    )
}
