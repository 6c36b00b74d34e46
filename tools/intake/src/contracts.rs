//! `contracts`: makes event contracts of the stored signals, or judges stored signals by them. An event
//! contract is a JSON Schema of the `data` of one type. Must not know what a schema says: the crate
//! `contracts` does, which `cargo dev` uses too.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::{Args, Subcommand};
use contracts::infer::SeenSignals;
use contracts::judge::{Break, Contracts, Verdict};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;
use store::attributes::Item;

use crate::is_closed_output;
use crate::keys::ensure_account_has_key;
use crate::output::{counted, note, print_json, print_line};
use crate::stack::Stack;
use crate::stack::variables::SIGNALS_TABLE;
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
        match self {
            Self::Infer {
                selection,
                out,
                force,
            } => infer(&selection, &out, force, stack).await,
            Self::Check { selection, dir } => check(&selection, &dir, stack).await,
        }
    }
}

/// Writes event contracts that the selected signals keep.
///
/// # Errors
/// The signals cannot be read, the account has neither a key nor such a signal, or a contract is
/// there already or cannot be written.
async fn infer(selection: &SignalSelection, out: &Path, force: bool, stack: &Stack) -> Result<()> {
    let mut seen = SeenSignals::default();
    let add = |signal: &StoredSignal<'_>| seen.add(signal.r#type, &signal.data);
    selection.for_each_signal(stack, add).await?;
    // All files are there before the first line: a reader that closes the output keeps none from
    // being written.
    for written in seen.write_contracts(out, force)? {
        let signals = counted(written.signals, "signal");
        let path = written.path.display();
        print_line(&format!(
            "{path}: {:?}, from {signals}",
            written.signal_type
        ))?;
    }
    Ok(())
}

/// Prints the selected signals that break their event contracts.
///
/// # Errors
/// A signal breaks its contract, the contracts cannot be used, the signals cannot be read, or the
/// account has neither a key nor such a signal.
async fn check(selection: &SignalSelection, dir: &Path, stack: &Stack) -> Result<()> {
    let mut contracts = Contracts::read(dir)?;
    contracts.ensure_any()?;
    let mut counts = JudgedCounts::default();
    let judge = |signal: &StoredSignal<'_>| {
        match contracts.judge(signal.r#type, &signal.data) {
            Verdict::Kept => counts.kept += 1,
            Verdict::NoContract => counts.without_contract += 1,
            Verdict::Broken(breaks) => {
                counts.broken += 1;
                print_json(&BrokenSignal::new(signal, &breaks))?;
            }
        }
        Ok(())
    };
    let all_read = selection.for_each_signal(stack, judge).await;
    // A reader that has enough of them, such as `head`, makes the exit code no 0.
    ensure!(!all_read.as_ref().is_err_and(is_closed_output), BROKEN);
    all_read?;
    note(&format!(
        "{} match their contract, {} break it, {} have a type without one.",
        counted(counts.kept, "signal"),
        counts.broken,
        counts.without_contract
    ));
    ensure!(counts.broken == 0, BROKEN);
    Ok(())
}

const BROKEN: &str = "signals break their contracts.";

/// How many signals had which verdict.
#[derive(Default)]
struct JudgedCounts {
    kept: u64,
    broken: u64,
    without_contract: u64,
}

impl SignalSelection {
    /// Hands each selected signal to `take`, in no order.
    ///
    /// # Errors
    /// The signals cannot be read, `take` fails, or the account has neither a key nor such a signal.
    async fn for_each_signal(
        &self,
        stack: &Stack,
        mut take: impl FnMut(&StoredSignal<'_>) -> Result<()>,
    ) -> Result<()> {
        let account = AttributeValue::S(self.account.to_string());
        let since = self.since.unwrap_or(Timestamp::from_millis(0));
        let since = AttributeValue::S(since.to_string());
        let select = |scan: ScanFluentBuilder| {
            scan.filter_expression("accountId = :account AND receivedAt >= :since")
                .expression_attribute_values(":account", account.clone())
                .expression_attribute_values(":since", since.clone())
        };
        let mut signals = 0;
        scan_table(
            &stack.dynamodb,
            stack.table_name(SIGNALS_TABLE)?,
            note,
            select,
            async |page| {
                for item in page.items() {
                    let signal = StoredSignal::read(item).with_context(|| {
                        let of_key = |name| text(item, name).unwrap_or_default();
                        format!("pk {:?}, sk {:?}", of_key("pk"), of_key("sk"))
                    })?;
                    take(&signal)?;
                    signals += 1;
                }
                Ok(())
            },
        )
        .await?;
        if signals == 0 {
            // The name of the account may be misspelled: then no signal was judged.
            ensure_account_has_key(stack, &self.account, "no signal of it was read").await?;
        }
        let count = counted(signals, "signal");
        note(&format!("{count} of {} read.", self.account));
        Ok(())
    }
}

/// A stored signal, as far as it is judged and named.
struct StoredSignal<'a> {
    /// The customerId or the emitterId.
    subject: &'a str,
    /// The eventType or the stepNodeId.
    r#type: &'a str,
    request_identifier: &'a str,
    /// Its place in the request, from 0.
    index: u64,
    received_at: &'a str,
    /// In JSON.
    data: String,
}

impl<'a> StoredSignal<'a> {
    fn read(item: &'a Item) -> Result<Self> {
        let one_of = |name, other| {
            let found = text(item, name).or_else(|| text(item, other));
            found.with_context(|| format!("A signal in the table has neither {name} nor {other}."))
        };
        let attribute = |name| {
            text(item, name).with_context(|| format!("A signal in the table has no {name}."))
        };
        // The sort key ends with the index (docs/data-model.md, Signals).
        let index = attribute("sk")?.rsplit('#').next();
        let index = index.and_then(|index| index.parse().ok());
        let data = item
            .get("data")
            .context("A signal in the table has no data.")?;
        Ok(Self {
            subject: one_of("customerId", "emitterId")?,
            r#type: one_of("eventType", "stepNodeId")?,
            request_identifier: attribute("requestIdentifier")?,
            index: index.context("The key of a signal in the table has no index.")?,
            received_at: attribute("receivedAt")?,
            data: to_json(&Json(data))?,
        })
    }
}

/// A signal that breaks its event contract, as it is printed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BrokenSignal<'a> {
    subject: &'a str,
    r#type: &'a str,
    request_identifier: &'a str,
    index: u64,
    received_at: &'a str,
    breaks: &'a [Break],
}

impl<'a> BrokenSignal<'a> {
    fn new(signal: &StoredSignal<'a>, breaks: &'a [Break]) -> Self {
        Self {
            subject: signal.subject,
            r#type: signal.r#type,
            request_identifier: signal.request_identifier,
            index: signal.index,
            received_at: signal.received_at,
            breaks,
        }
    }
}
