//! `contracts`: makes event contracts of the stored signals, or judges stored signals by them. An event
//! contract is a JSON Schema of the `data` of one type. Must not know what a schema says: it pipes each
//! signal as a line into the program `contracts`, which `cargo dev` uses too.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use anyhow::{Context as _, Result, ensure};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use cargo_command::cargo_command;
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;
use store::attributes::Item;

use crate::keys::KeyTable;
use crate::output::{counted, note};
use crate::stack::Stack;
use crate::stack::variable_names::SIGNALS_TABLE;
use crate::time_args::time_or_age;
use operator::escape::to_json;
use operator::items::{Json, scan_table, text};

#[derive(Debug, Subcommand)]
pub(crate) enum EventContractsCommand {
    /// Write an event contract for each type of the stored signals, with the types of its values and
    /// without a value: a start to edit
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod contracts infer --account shop --out contracts\n\n\
        It writes a line of text for each contract, also with --json."
    )]
    Infer {
        #[command(flatten)]
        selection: SignalSelection,

        /// The folder for the event contracts
        #[arg(long, value_name = "DIR")]
        out: PathBuf,

        /// Replace event contracts that are there
        #[arg(long)]
        force: bool,
    },

    /// Judge stored signals by the event contracts of a folder. The exit code is 1 when one breaks
    /// its contract
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod contracts check --account shop contracts\n\n\
        It writes a line of JSON for each signal that breaks its contract, also without --json."
    )]
    Check {
        #[command(flatten)]
        selection: SignalSelection,

        /// The folder of the event contracts
        dir: PathBuf,
    },
}

/// Which stored signals a command reads.
#[derive(Args, Debug)]
pub(crate) struct SignalSelection {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals received at or after this time, such as 7d (ago) or 2026-11-20 [default: all]
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    since: Option<Timestamp>,
}

impl EventContractsCommand {
    pub(crate) async fn run(self, stack: &Stack) -> Result<()> {
        let mut program = Process::new(find_program()?);
        let selection = match self {
            Self::Infer {
                selection,
                out,
                force,
            } => {
                program.arg("infer").arg(out);
                if force {
                    program.arg("--force");
                }
                selection
            }
            Self::Check { selection, dir } => {
                program.arg("check").arg(dir);
                selection
            }
        };
        selection.pipe_into(program, stack).await
    }
}

impl SignalSelection {
    /// Pipes the signals into the program, which writes the results to the standard output that it
    /// shares with this command.
    ///
    /// # Errors
    /// The program does not run or cannot use the event contracts, a signal breaks its contract, the
    /// signals cannot be read, or the account has neither a key nor such a signal.
    async fn pipe_into(&self, mut program: Process, stack: &Stack) -> Result<()> {
        let mut process = program
            .stdin(Stdio::piped())
            .spawn()
            .context("Cannot start `contracts`")?;
        let input = process.stdin.take();
        let input = input.context("`contracts` has no standard input")?;
        let written = self.write_lines(stack, BufWriter::new(input)).await;
        let status = process.wait().context("Cannot wait for `contracts`")?;
        // With another exit code, the program has said why it cannot use the event contracts. It may
        // have read nothing, so that writing failed too.
        let has_judged = [Some(0), Some(1)].contains(&status.code());
        ensure!(has_judged, "the contracts cannot be used: see above.");
        let signals = written?;
        if signals == 0 {
            self.ensure_account_has_key(stack).await?;
        }
        let count = counted(signals, "signal");
        note(&format!("{count} of {} read.", self.account));
        ensure!(status.success(), "signals break their contracts.");
        Ok(())
    }

    /// Fails when the account has no key: its name may be misspelled, and then no signal was judged.
    async fn ensure_account_has_key(&self, stack: &Stack) -> Result<()> {
        let account = &self.account;
        let api_keys = KeyTable::new(stack)?.all().await?;
        let has_key = api_keys.iter().any(|key| key.entry.account_id == *account);
        ensure!(
            has_key,
            "The account {account} has no key, and no signal of it was read."
        );
        Ok(())
    }

    /// Writes a line for each signal, and returns how many there are.
    async fn write_lines(&self, stack: &Stack, mut lines: impl Write) -> Result<u64> {
        let account = AttributeValue::S(self.account.to_string());
        let since = self.since.unwrap_or(Timestamp::from_millis(0));
        let since = AttributeValue::S(since.to_string());
        let select = |scan: ScanFluentBuilder| {
            scan.filter_expression("accountId = :account AND receivedAt >= :since")
                .expression_attribute_values(":account", account.clone())
                .expression_attribute_values(":since", since.clone())
        };
        let mut count = 0;
        scan_table(
            &stack.dynamodb,
            stack.table_name(SIGNALS_TABLE)?,
            note,
            select,
            async |page| {
                for item in page.items() {
                    let line = to_json(&SignalLine::new(item))?;
                    writeln!(lines, "{line}")?;
                    count += 1;
                }
                Ok(())
            },
        )
        .await?;
        lines.flush()?;
        Ok(count)
    }
}

/// A signal as the program reads it: `SignalLine` of tools/contracts. Its name is its key.
#[derive(Serialize)]
struct SignalLine<'a> {
    name: String,
    /// The eventType or the stepNodeId.
    r#type: Option<&'a str>,
    data: Option<Json<'a>>,
}

impl<'a> SignalLine<'a> {
    fn new(item: &'a Item) -> Self {
        let partition = text(item, "pk").unwrap_or_default();
        let sort = text(item, "sk").unwrap_or_default();
        Self {
            name: format!("{partition} {sort}"),
            r#type: text(item, "eventType").or_else(|| text(item, "stepNodeId")),
            data: item.get("data").map(Json),
        }
    }
}

/// Finds the program `contracts` beside this one. Where cargo runs this program, as in the repository,
/// it builds `contracts` first; a release has both.
fn find_program() -> Result<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        let built = cargo_command(cargo)
            .args(["build", "--locked", "--bin", "contracts"])
            .status()
            .context("Cargo cannot be started")?;
        ensure!(
            built.success(),
            "`contracts` could not be built: see above."
        );
    }
    let own = std::env::current_exe().context("the folder of the programs is unknown")?;
    let program = own.with_file_name("contracts");
    ensure!(
        program.is_file(),
        "the program `contracts` is not beside this one. In the repository, `cargo install --locked --path tools/contracts` \
         installs it."
    );
    Ok(program)
}
