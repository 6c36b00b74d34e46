//! `contracts`: makes JSON Schemas of the `data` of stored signals, or judges stored signals by them.
//! Must not know what a schema says: it gives each signal as a line to the program `contracts`, which
//! `cargo dev` uses too.

#[path = "../../../testkit/sandbox/src/cargo.rs"]
#[expect(unreachable_pub, reason = "the file belongs to a library of the tests")]
mod cargo;

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;
use store::attributes::Item;

use crate::items::{Json, scan, text};
use crate::output::{counted, note, to_json};
use crate::stack::Stack;
use crate::stack::variable_names::SIGNALS_TABLE;
use crate::time_args::timestamp;

#[derive(Debug, Subcommand)]
pub(crate) enum ContractsCommand {
    /// Write a contract for each type of the stored signals, with its types and without a value: a
    /// start to edit
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod contracts infer --account shop --out contracts"
    )]
    Infer {
        #[command(flatten)]
        read: Read,

        /// The folder for the contracts
        #[arg(long, value_name = "DIR")]
        out: PathBuf,

        /// Replace contracts that are there
        #[arg(long)]
        force: bool,
    },

    /// Judge stored signals by the contracts of a folder. The exit code is 1 when one breaks its
    /// contract
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod contracts check --account shop contracts"
    )]
    Check {
        #[command(flatten)]
        read: Read,

        /// The folder of the contracts
        dir: PathBuf,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Read {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals received at or after this time, such as 7d (ago) or 2026-11-20 [default: all]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    since: Option<Timestamp>,
}

impl ContractsCommand {
    pub(crate) async fn run(self, stack: &Stack) -> Result<()> {
        let mut judge = Process::new(program()?);
        let read = match self {
            Self::Infer { read, out, force } => {
                judge.arg("infer").arg(out);
                if force {
                    judge.arg("--force");
                }
                read
            }
            Self::Check { read, dir } => {
                judge.arg("check").arg(dir);
                read
            }
        };
        read.give(stack, judge).await
    }
}

impl Read {
    /// Gives the signals to the program, which writes the results as lines of JSON.
    async fn give(&self, stack: &Stack, mut judge: Process) -> Result<()> {
        let mut judge = judge
            .stdin(Stdio::piped())
            .spawn()
            .context("Cannot start `contracts`")?;
        let input = judge.stdin.take();
        let lines = input.context("`contracts` has no standard input")?;
        let read = self.write(stack, BufWriter::new(lines)).await;
        let status = judge.wait().context("Cannot wait for `contracts`")?;
        // A program that cannot use the contracts has said so, and has read nothing.
        let has_judged = [Some(0), Some(1)].contains(&status.code());
        if !has_judged {
            bail!("the contracts cannot be used: see above.");
        }
        let count = counted(read?, "signal");
        note(&format!("{count} of {} read.", self.account));
        ensure!(status.success(), "signals break their contracts.");
        Ok(())
    }

    /// Writes a line for each signal, and returns how many there are.
    async fn write(&self, stack: &Stack, mut lines: impl Write) -> Result<u64> {
        let account = AttributeValue::S(self.account.to_string());
        let since = self.since.unwrap_or(Timestamp::from_millis(0));
        let since = AttributeValue::S(since.to_string());
        let select = |scan: ScanFluentBuilder| {
            scan.filter_expression("accountId = :account AND receivedAt >= :since")
                .expression_attribute_values(":account", account.clone())
                .expression_attribute_values(":since", since.clone())
        };
        let mut count = 0;
        scan(stack, stack.table(SIGNALS_TABLE)?, select, async |page| {
            for item in page.items() {
                let line = to_json(&SignalLine::new(item))?;
                writeln!(lines, "{line}")?;
                count += 1;
            }
            Ok(())
        })
        .await?;
        lines.flush()?;
        Ok(count)
    }
}

/// A signal as the program reads it. Its name is its key.
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

/// The path of the program `contracts`. Where cargo runs this program, it is built first; elsewhere, as
/// in a release, it is beside this program.
fn program() -> Result<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        let built = cargo::cargo_command(cargo)
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
