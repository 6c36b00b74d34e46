//! `contracts`: JSON Schemas of the `data` of stored signals, made of them or kept by them. Must
//! not know what a schema says: the program `contracts`, which `cargo dev` uses too, gets each
//! signal as a line.

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
use crate::stack::{SIGNALS, Stack};
use crate::time_args::timestamp;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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

impl Command {
    pub(crate) async fn run(self, stack: &Stack) -> Result<()> {
        let (read, mode, dir, force) = match &self {
            Self::Infer { read, out, force } => (read, "infer", out, *force),
            Self::Check { read, dir } => (read, "check", dir, false),
        };
        let mut judge = Process::new(program()?);
        judge.arg(mode).arg(dir).args(force.then_some("--force"));
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
        // A program that cannot use the contracts has said so, and reads nothing.
        if ![Some(0), Some(1)].contains(&status.code()) {
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
        scan(stack, stack.table(SIGNALS)?, select, async |page| {
            for item in page.items() {
                writeln!(lines, "{}", to_json(&Line::of(item))?)?;
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
struct Line<'a> {
    name: String,
    /// The eventType or the stepNodeId.
    r#type: Option<&'a str>,
    data: Option<Json<'a>>,
}

impl<'a> Line<'a> {
    fn of(item: &'a Item) -> Self {
        let [pk, sk] = ["pk", "sk"].map(|name| text(item, name).unwrap_or_default());
        let of = text(item, "eventType").or_else(|| text(item, "stepNodeId"));
        Self {
            name: format!("{pk} {sk}"),
            r#type: of,
            data: item.get("data").map(Json),
        }
    }
}

/// The program: built where cargo runs this one, else beside it, as in a release.
fn program() -> Result<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        let built = cargo::cargo_command(cargo)
            .args(["build", "--locked", "--bin", "contracts"])
            .status();
        ensure!(
            built.context("Cargo cannot be started")?.success(),
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
