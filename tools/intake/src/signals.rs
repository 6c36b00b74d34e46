//! `signals list`: did my signal arrive?

mod follow;
mod history;

use anyhow::Result;
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::identifier::UuidText;
use model::timestamp::Timestamp;

use self::history::History;
use crate::item::{Item, display, json_object, text};
use crate::output::{Format, Table, note, print_json};
use crate::stack::Stack;
use crate::time_args::timestamp;

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
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The customerId or emitterId, as the client sent it
    #[arg(value_name = "SUBJECT_ID", allow_hyphen_values = true)]
    subject_id: String,

    /// Only signals received at or after this time, such as 1h (ago) or 2026-11-20T22:00:00Z
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    since: Option<Timestamp>,

    /// Only signals received before this time
    #[arg(long, value_name = "TIME", value_parser = timestamp, conflicts_with = "follow")]
    until: Option<Timestamp>,

    /// Only signals with this eventflowIdentifier
    #[arg(long, value_name = "UUID", value_parser = uuid)]
    flow: Option<String>,

    /// Only the newest N signals
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Continue with the signals that arrive from now on, until Ctrl-C
    #[arg(long)]
    follow: bool,
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let Self::List(list) = self;
        let history = History::new(stack, &list)?;
        let mut listing = Listing::new(format);
        let begin = Timestamp::now();
        // Alone, --follow lists only what is new.
        if !list.follow || list.since.is_some() || list.limit.is_some() {
            let until = if list.follow { Some(begin) } else { list.until };
            history.list(until, &mut listing).await?;
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

/// Writes signals, and counts them.
struct Listing {
    format: Format,
    table: Table,
    count: usize,
}

impl Listing {
    fn new(format: Format) -> Self {
        let table = Table::with_heading(["RECEIVED", "EVENT/STEP", "FLOW", "DATA"]).cut_to_terminal();
        Self { format, table, count: 0 }
    }

    fn add(&mut self, signals: &[Item]) -> Result<()> {
        self.count += signals.len();
        if self.format == Format::Json {
            return signals.iter().try_for_each(|signal| print_json(&json_object(signal, &["pk", "sk", "accountId"])));
        }
        for signal in signals {
            let received = text(signal, "receivedAt").unwrap_or_default();
            let event = text(signal, "eventType").or_else(|| text(signal, "stepNodeId")).unwrap_or_default();
            let flow = text(signal, "eventflowIdentifier").unwrap_or_default();
            self.table.row([received, event, flow, &signal.get("data").map(display).unwrap_or_default()]);
        }
        if signals.is_empty() { Ok(()) } else { self.table.print() }
    }
}

/// Parses a UUID. Clients write it in either case: it is compared in lower case.
fn uuid(text: &str) -> Result<String, String> {
    let uuid = UuidText::parse(text).ok_or("write a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6")?;
    Ok(uuid.as_str().to_ascii_lowercase())
}
