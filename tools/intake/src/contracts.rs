//! `contracts`: JSON Schemas of the `data` of stored signals, made of them or kept by them. Must
//! not know what a schema says: the program `contracts`, which `cargo dev` uses too, gets each
//! signal as a line.

#[path = "../../../testkit/sandbox/src/cargo.rs"]
#[expect(unreachable_pub, reason = "the file belongs to a library of the tests")]
mod cargo;

use std::io::{BufWriter, Write as _};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use aws_sdk_dynamodb::types::AttributeValue;
use clap::{Args, Subcommand};
use model::account::AccountId;
use serde::Serialize;

use crate::error::call_error;
use crate::items::{Json, text};
use crate::output::{NOTE_INTERVAL, note, to_json};
use crate::stack::{Item, SIGNALS, Stack};

/// Signals of one call.
const PAGE: u32 = 1_000;

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

    /// Read at most N signals, of any account, in no order
    #[arg(long, value_name = "N", default_value = "100000")]
    items: NonZeroU32,
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
        let mut lines = BufWriter::new(
            judge
                .stdin
                .take()
                .context("`contracts` has no standard input")?,
        );
        let table = stack.table(SIGNALS)?;
        let scan = stack
            .client
            .scan()
            .table_name(table)
            .limit(self.items.get().min(PAGE).cast_signed());
        let scan = scan.filter_expression("accountId = :account");
        let scan = scan
            .expression_attribute_values(":account", AttributeValue::S(self.account.to_string()));
        let mut pages = scan.into_paginator().send();
        let (mut read, mut count, mut noted_at, mut part) = (0, 0, Instant::now(), "");
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| call_error(table, error))?;
            for item in page.items() {
                // A program that cannot use the contracts has said so, and reads nothing.
                let _ = writeln!(lines, "{}", to_json(&Line::of(item))?);
                count += 1;
            }
            read += page.scanned_count.unsigned_abs();
            if read >= self.items.get() && page.last_evaluated_key.is_some() {
                part = ": a part of the table. --items reads more";
                break;
            }
            if noted_at.elapsed() >= NOTE_INTERVAL {
                note(&format!("{count} signals of {} read.", self.account));
                noted_at = Instant::now();
            }
        }
        drop(lines);
        let status = judge.wait().context("Cannot wait for `contracts`")?;
        note(&format!(
            "{count} signals of {} were read{part}.",
            self.account
        ));
        match status.code() {
            Some(0) => Ok(()),
            Some(1) => bail!("signals break their contracts."),
            _ => bail!("the contracts cannot be used: see above."),
        }
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

/// The program: built where cargo runs this one, and beside it in a release.
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
    Ok(std::env::current_exe()
        .context("the folder of the programs is unknown")?
        .with_file_name("contracts"))
}
