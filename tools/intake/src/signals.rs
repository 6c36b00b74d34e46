//! `signals list`: did my event arrive?

mod follow;
mod history;

use anyhow::Result;
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::identifier::UuidText;
use model::timestamp::Timestamp;

use self::history::History;
use crate::item::{Item, Json, Members, text};
use crate::output::{Format, Table, json, note};
use crate::stack::StackArgs;
use crate::time_args::{format_utc, timestamp};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the signals of a customer or an emitter, oldest first
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod signals list --account shop customer-17 --since 1h\n  \
        cargo intake --local signals list --account dev customer-17 --follow"
    )]
    List(List),
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Whose signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The customerId or emitterId, as the client sent it
    #[arg(value_name = "SUBJECT_ID", allow_hyphen_values = true)]
    subject_id: String,

    /// Only those that arrived at or after this time, such as 1h (ago) or 2026-11-20T22:00:00Z
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    since: Option<Timestamp>,

    /// Only those that arrived before this time
    #[arg(long, value_name = "TIME", value_parser = timestamp, conflicts_with = "follow")]
    until: Option<Timestamp>,

    /// Only those with this eventflowIdentifier
    #[arg(long, value_name = "UUID", value_parser = uuid)]
    flow: Option<String>,

    /// Only the newest N
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Go on with what arrives from now on, until Ctrl-C
    #[arg(long)]
    follow: bool,
}

impl Command {
    pub(crate) async fn run(self, stack_args: &StackArgs, format: Format) -> Result<()> {
        let Self::List(list) = self;
        let stack = stack_args.connect().await?;
        let history = History::of(&stack, &list)?;
        let mut listing = Listing::new(format);
        // Without a word about the past, following begins now.
        let begin = Timestamp::now();
        if !list.follow || list.since.is_some() || list.limit.is_some() {
            let until = if list.follow { Some(begin) } else { list.until };
            history.read(until, list.limit, &mut listing).await?;
        }
        if list.follow {
            return follow::follow(&history, begin, &mut listing).await;
        }
        if listing.count == 0 {
            note(&format!("No such signals of {:?} in the account {}.", list.subject_id, list.account));
        }
        Ok(())
    }
}

/// The signals that were listed so far.
struct Listing {
    format: Format,
    table: Table,
    count: usize,
}

impl Listing {
    fn new(format: Format) -> Self {
        Self {
            format,
            table: Table::with_heading(["RECEIVED", "EVENT/STEP", "FLOW", "DATA"]).cut_to_terminal(),
            count: 0,
        }
    }

    /// Writes these.
    fn add(&mut self, signals: &[Item]) -> Result<()> {
        if signals.is_empty() {
            return Ok(());
        }
        self.count = self.count.saturating_add(signals.len());
        if self.format.is_json() {
            return signals.iter().try_for_each(|signal| json(&Members::of(signal, &["pk", "sk", "accountId"])));
        }
        for signal in signals {
            let received =
                text(signal, "receivedAt").and_then(|text| text.parse().ok()).map(format_utc).unwrap_or_default();
            let what = text(signal, "eventType").or_else(|| text(signal, "stepNodeId")).unwrap_or_default();
            let flow = text(signal, "eventflowIdentifier").unwrap_or_default();
            let data = signal.get("data").and_then(|data| serde_json::to_string(&Json(data)).ok()).unwrap_or_default();
            self.table.row([&received, what, flow, &data]);
        }
        self.table.print()
    }
}

/// A UUID as DynamoDB has it or not: callers write it in either case, so it is compared in lower case.
fn uuid(text: &str) -> Result<String, String> {
    let uuid = UuidText::parse(text).ok_or("write a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6")?;
    Ok(uuid.as_str().to_ascii_lowercase())
}
