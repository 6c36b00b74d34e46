//! `signals list`: the signals of one customer or emitter in order of arrival, which are one partition
//! of the table, and those that arrive from now on. Must not know what the data of a signal has.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use futures_util::{StreamExt as _, TryStreamExt as _};
use model::account::AccountId;
use model::timestamp::Timestamp;
use store::attributes::Item;

use crate::interrupt::until_interrupted;
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;
use crate::stack::variables::SIGNALS_TABLE;
use crate::subject_id::subject_id;
use crate::time_args::time_or_age;
use operator::items::{Json, display, json_object, partition_query, query_items, text};

/// How many signals are listed unless the operator asks for another number.
const DEFAULT_LIMIT: usize = 50;

/// How often `--follow` reads the table.
const INTERVAL: Duration = Duration::from_secs(1);

/// How far before the newest signal each read of `--follow` reaches: longer than a function may take to store a
/// request, and than the clocks of functions may differ.
const LOOK_BACK: Duration = Duration::from_secs(30);

/// How many signals are written at once.
const PAGE_SIZE: usize = 1_000;

#[derive(Args, Debug)]
pub(crate) struct ListSignals {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The customerId or emitterId, as the client sent it
    #[arg(value_name = "ID", allow_hyphen_values = true, value_parser = subject_id)]
    subject_id: String,

    /// Only signals received at or after this time, such as 1h (ago) or 2026-11-20T22:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    since: Option<Timestamp>,

    /// Only signals received before this time
    #[arg(long, value_name = "TIME", value_parser = time_or_age, conflicts_with = "follow")]
    until: Option<Timestamp>,

    #[arg(long, value_name = "N", help = format!("Only the newest N signals [default: {DEFAULT_LIMIT}]"))]
    limit: Option<NonZeroUsize>,

    /// All signals
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Continue with the signals that arrive from now on, until Ctrl-C
    #[arg(long)]
    follow: bool,
}

impl ListSignals {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Self {
            account,
            subject_id,
            ..
        } = self;
        if let (Some(since), Some(until)) = (self.since, self.until) {
            ensure!(since < until, "--since must be before --until.");
        }
        let mut history = History::new(stack, account, subject_id, format)?;
        if self.follow {
            history.skip_stored().await?;
        }
        // Alone, --follow lists only what is new.
        let selects_stored_ones = self.since.is_some() || self.limit.is_some() || self.all;
        if !self.follow || selects_stored_ones {
            let has_more = history.list(self.since, self.until, self.limit()).await?;
            if has_more {
                let shown = history.count;
                note(&format!(
                    "There are older ones: only the newest {shown} are shown. Use --limit N or --all."
                ));
            }
        }
        if self.follow {
            note(&format!(
                "Waiting for signals of {subject_id:?} in the account {account}. Ctrl-C ends it."
            ));
            until_interrupted(history.follow()).await?;
            return Ok(());
        }
        if history.count == 0 {
            note(&format!(
                "No such signals of {subject_id:?} in the account {account}."
            ));
        }
        Ok(())
    }

    /// The most signals to list. `None` lists all.
    fn limit(&self) -> Option<usize> {
        if self.all {
            return None;
        }
        Some(self.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get))
    }
}

/// The signals of one subject, as they are listed.
struct History<'a> {
    stack: &'a Stack,
    table_name: &'a str,
    partition: String,
    rows: PrintedTable,
    /// How many signals were written.
    count: usize,
    /// When the newest signal arrived, by the clock of its function. That of this machine may differ.
    newest: Option<Timestamp>,
    /// The sort keys of signals that a read of `--follow` finds and does not list again.
    known: HashSet<String>,
}

impl<'a> History<'a> {
    fn new(
        stack: &'a Stack,
        account: &AccountId,
        subject_id: &str,
        format: Format,
    ) -> Result<Self> {
        let rows =
            PrintedTable::new(format, ["RECEIVED", "EVENT/STEP", "FLOW", "DATA"]).cut_to_terminal();
        Ok(Self {
            stack,
            table_name: stack.table_name(SIGNALS_TABLE)?,
            partition: account.partition_key(subject_id),
            rows,
            count: 0,
            newest: None,
            known: HashSet::new(),
        })
    }

    /// Writes the signals that arrived from `since` on and before `until`, the newest `limit` of
    /// them. Returns whether there are more.
    async fn list(
        &mut self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        limit: Option<usize>,
    ) -> Result<bool> {
        let query = self.query(since, until);
        let Some(limit) = limit else {
            let mut pages = query_items(&self.stack.dynamodb, query, note).try_chunks(PAGE_SIZE);
            while let Some(page) = pages.try_next().await.map_err(|error| error.1)? {
                self.write(&page)?;
            }
            return Ok(false);
        };
        // The query asks for one signal more than the command lists, to know whether there are
        // more.
        let read_limit = limit.saturating_add(1);
        let query = query
            .scan_index_forward(false)
            .set_limit(i32::try_from(read_limit).ok());
        let mut newest: Vec<Item> = query_items(&self.stack.dynamodb, query, note)
            .take(read_limit)
            .try_collect()
            .await?;
        let has_more = newest.len() > limit;
        newest.truncate(limit);
        newest.reverse();
        self.write(&newest)?;
        Ok(has_more)
    }

    /// Takes all that is stored for known: [`Self::follow`] lists what arrives afterwards.
    async fn skip_stored(&mut self) -> Result<()> {
        let newest = self.query(None, None).scan_index_forward(false).limit(1);
        let newest: Vec<Item> = query_items(&self.stack.dynamodb, newest, note)
            .take(1)
            .try_collect()
            .await?;
        self.remember(&newest);
        let recent = self.read_recent().await?;
        self.remember(&recent);
        Ok(())
    }

    /// Lists signals as they arrive. Returns only when something fails.
    ///
    /// A signal is stored a little later than the arrival time in its key, and signals are not
    /// stored in the order of their keys. So the last seconds are read again and again, and what
    /// was already listed is left out.
    async fn follow(&mut self) -> Result<()> {
        loop {
            let mut signals = self.read_recent().await?;
            signals.retain(|signal| sort_key(signal).is_some_and(|key| !self.known.contains(key)));
            self.write(&signals)?;
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// The signals that arrived [`LOOK_BACK`] before the newest one or later.
    async fn read_recent(&self) -> Result<Vec<Item>> {
        let query = self.query(self.recent_since(), None);
        query_items(&self.stack.dynamodb, query, note)
            .try_collect()
            .await
    }

    /// A signal with a time ahead, of an import or of a wrong clock, hides no later one.
    fn recent_since(&self) -> Option<Timestamp> {
        let newest = self.newest?.min(Timestamp::now());
        Some(newest.minus(LOOK_BACK))
    }

    /// Adds these signals to the known ones, and forgets those that no read finds again.
    fn remember(&mut self, signals: &[Item]) {
        for signal in signals {
            let received_at = text(signal, "receivedAt").and_then(|time| time.parse().ok());
            self.newest = self.newest.max(received_at);
            self.known.extend(sort_key(signal).map(str::to_owned));
        }
        if let Some(since) = self.recent_since() {
            let since = since.to_string();
            self.known.retain(|key| *key >= since);
        }
    }

    fn write(&mut self, signals: &[Item]) -> Result<()> {
        if signals.is_empty() {
            return Ok(());
        }
        for signal in signals {
            self.add(signal)?;
        }
        self.remember(signals);
        self.count += signals.len();
        self.rows.print()
    }

    fn add(&mut self, signal: &Item) -> Result<()> {
        let index = index_in_request(signal);
        let mut json = json_object(signal, &["pk", "sk", "accountId"]);
        if let Some(index) = &index {
            json.insert("index", Json(index));
        }
        let attribute = |name| text(signal, name).unwrap_or_default();
        // A signal has one of the two.
        let signal_type = [attribute("eventType"), attribute("stepNodeId")].concat();
        let data = signal.get("data").map(display).unwrap_or_default();
        let cells = [
            attribute("receivedAt"),
            &signal_type,
            attribute("eventflowIdentifier"),
            &data,
        ];
        self.rows.add(&json, cells)
    }

    /// A query for the signals that arrived from `since` on and before `until`. A sort key begins with
    /// a time and continues, so a key with the time `until` sorts after that bound.
    fn query(&self, since: Option<Timestamp>, until: Option<Timestamp>) -> QueryFluentBuilder {
        let bound = |time: Option<Timestamp>, none: &str| {
            AttributeValue::S(time.map_or_else(|| none.to_owned(), |time| time.to_string()))
        };
        // "0" sorts before every time, "~" after every time.
        partition_query(
            &self.stack.dynamodb,
            self.table_name,
            self.partition.clone(),
        )
        .key_condition_expression("pk = :pk AND sk BETWEEN :since AND :until")
        .expression_attribute_values(":since", bound(since, "0"))
        .expression_attribute_values(":until", bound(until, "~"))
    }
}

fn sort_key(signal: &Item) -> Option<&str> {
    text(signal, "sk")
}

/// The index of the signal in its request, which is only in its key: an import needs it to store
/// the signal again.
fn index_in_request(signal: &Item) -> Option<AttributeValue> {
    let index: u64 = text(signal, "sk")?.rsplit('#').next()?.parse().ok()?;
    Some(AttributeValue::N(index.to_string()))
}
