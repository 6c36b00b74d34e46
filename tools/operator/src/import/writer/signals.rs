//! Stores signals, and finds out which of them are stored already.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::identifier::RequestIdentifier;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::signals::SignalsTable;

use super::super::line::ParsedLine;
use super::super::line_key::{LineKeys, without_number};
use super::super::report::{ImportReport, LineOutcome};
use super::{CONCURRENCY, FinishedLine, ImportMode};
use crate::error::write_error;
use crate::import::chunks::ImportLine;
use crate::import::{ImportFile, ImportKind};
use crate::items::{partition_query, query_items, text};
use crate::{Tables, WRITE_TIMEOUT};

/// Signals of one customer or emitter that were received at one time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    subject_id: String,
    received_at: Timestamp,
}

/// The key of a signal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SignalKey {
    moment: Moment,
    /// The end of the sort key, after the time.
    identifier_and_index: String,
}

/// A signal, and the lines that have its key. It is the signal of the last of these lines, which replace
/// each other.
struct NumberedSignal<'a> {
    lines: Vec<u64>,
    identifier: RequestIdentifier,
    /// Whether the key was made of the line, and not read from it.
    has_key_of_line: bool,
    signal: Signal<'a>,
}

/// The signals that are stored at the times of a chunk. The next chunk often has the same time, such as
/// that of `--received-at`, and does not read it again.
#[derive(Default)]
struct StoredBefore(BTreeMap<Moment, StoredKeys>);

/// The ends of the sort keys of the signals that are stored at one time.
#[derive(Default)]
struct StoredKeys {
    whole: BTreeSet<String>,
    without_number: BTreeSet<String>,
}

/// Stores signals of one account.
pub(in crate::import) struct SignalsWriter<'a> {
    tables: &'a Tables,
    account: &'a AccountId,
    keys: LineKeys<'a>,
    mode: ImportMode,
    table: SignalsTable,
    before: StoredBefore,
}

impl<'a> SignalsWriter<'a> {
    /// # Errors
    /// The file cannot be read, or a line has no time.
    pub(super) fn new(tables: &'a Tables, file: &'a ImportFile) -> Result<Self> {
        if file.received_at.is_none() {
            file.look_ahead(ImportKind::Signals, |_| {})?;
        }
        let client = tables.dynamodb.clone();
        Ok(Self {
            tables,
            account: &file.account,
            keys: LineKeys::new(&file.account, file.source()),
            mode: file.mode,
            table: SignalsTable::new(client, &tables.signals, tables.retention),
            before: StoredBefore::default(),
        })
    }

    /// Notes lines before the first one to import.
    pub(super) fn leave_out(&mut self, lines: &[ImportLine]) {
        for text in lines.iter().filter_map(|line| line.text.as_deref().ok()) {
            self.keys.leave_out(text);
        }
    }

    pub(super) async fn store(
        &mut self,
        lines: &[ParsedLine<'_>],
        report: &mut ImportReport,
    ) -> Result<Vec<FinishedLine>> {
        let signals = self.group_by_key(lines, report);
        self.find_stored(signals.keys()).await?;
        let mut finished = Vec::new();
        let mut written = Vec::new();
        for (key, numbered) in &signals {
            let is_stored = self.before.has(key, numbered);
            // A line with a key of its own may have been edited since.
            let is_written = !is_stored || !numbered.has_key_of_line;
            if is_written && self.mode == ImportMode::Store {
                written.push((key, numbered));
            } else {
                finished.extend(numbered.finish_stored(is_stored));
            }
        }
        let outcomes = self.write(&written).await?;
        for ((key, numbered), is_written) in written.into_iter().zip(outcomes) {
            let was_stored = self.before.has(key, numbered);
            if is_written {
                finished.extend(numbered.finish_stored(was_stored));
                self.before.add(key);
            } else {
                finished.extend(numbered.finish(LineOutcome::refused));
            }
        }
        Ok(finished)
    }

    /// The signals to store. Lines of which nothing is to be stored go to the report.
    fn group_by_key<'l>(
        &mut self,
        lines: &'l [ParsedLine<'_>],
        report: &mut ImportReport,
    ) -> BTreeMap<SignalKey, NumberedSignal<'l>> {
        let now = Timestamp::now();
        let mut signals: BTreeMap<SignalKey, NumberedSignal<'l>> = BTreeMap::new();
        for line in lines {
            if self.is_expired(line.time, now) {
                report.add(line.number, LineOutcome::Expired);
                continue;
            }
            let place = line.content.place.as_ref();
            let index = place.map_or(0, |place| place.index);
            let Some(signal) = parse_signal(line, index, report) else {
                continue;
            };
            let identifier = match place {
                Some(place) => place.request_identifier.clone(),
                None => self.keys.identifier(line),
            };
            let moment = Moment {
                subject_id: signal.subject_id().to_owned(),
                received_at: line.time,
            };
            let key = SignalKey {
                moment,
                identifier_and_index: format!("{}#{index:04}", identifier.canonical()),
            };
            let replaced = signals.remove(&key);
            let mut lines = replaced.map_or_else(Vec::new, |replaced| replaced.lines);
            lines.push(line.number);
            let numbered = NumberedSignal {
                lines,
                identifier,
                has_key_of_line: place.is_none(),
                signal,
            };
            signals.insert(key, numbered);
        }
        signals
    }

    fn is_expired(&self, received_at: Timestamp, now: Timestamp) -> bool {
        let expires_at = self.table.expires_at(received_at);
        expires_at.is_some_and(|end| end <= now)
    }

    /// Finds which signals are stored at the times of these keys. It reads the times that the last
    /// chunk did not have.
    async fn find_stored(&mut self, keys: impl Iterator<Item = &SignalKey>) -> Result<()> {
        let moments: BTreeSet<&Moment> = keys.map(|key| &key.moment).collect();
        self.before.0.retain(|moment, _| moments.contains(moment));
        let reads: Vec<_> = moments
            .into_iter()
            .filter(|moment| !self.before.0.contains_key(moment))
            .map(|moment| self.read_moment(moment))
            .collect();
        let found: Vec<(Moment, StoredKeys)> = stream::iter(reads)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        self.before.0.extend(found);
        Ok(())
    }

    /// The ends of the sort keys of the signals that are stored at this time.
    async fn read_moment(&self, at: &Moment) -> Result<(Moment, StoredKeys)> {
        let partition = self.account.partition_key(&at.subject_id);
        let time = format!("{}#", at.received_at);
        let query = partition_query(&self.tables.dynamodb, &self.tables.signals, partition)
            .key_condition_expression("pk = :pk AND begins_with(sk, :time)")
            .expression_attribute_values(":time", AttributeValue::S(time.clone()))
            .projection_expression("sk");
        let mut items = query_items(&self.tables.dynamodb, query, self.tables.note);
        let mut keys = StoredKeys::default();
        while let Some(item) = items.try_next().await? {
            if let Some(end) = text(&item, "sk").and_then(|key| key.strip_prefix(&time)) {
                keys.add(end);
            }
        }
        Ok((at.clone(), keys))
    }

    /// Writes signals. Returns of each whether it is stored; the others were refused.
    async fn write(&self, signals: &[(&SignalKey, &NumberedSignal<'_>)]) -> Result<Vec<bool>> {
        let with_context: Vec<_> = signals
            .iter()
            .map(|(key, numbered)| {
                let context = BatchContext {
                    account_id: self.account,
                    key_id: "",
                    request_identifier: &numbered.identifier,
                    first_received_at: key.moment.received_at,
                    request_id: "",
                };
                (context, &numbered.signal)
            })
            .collect();
        let deadline = Deadline::after(WRITE_TIMEOUT);
        let stored = self.table.store_of_batches(&with_context, deadline).await;
        let is_stored = |outcome| match outcome {
            ItemOutcome::Stored => Ok(true),
            ItemOutcome::Refused(_) => Ok(false),
            ItemOutcome::Unstored(error) => Err(write_error(&self.tables.signals, &error)),
        };
        stored.into_iter().map(is_stored).collect()
    }
}

impl StoredBefore {
    /// Whether a signal is stored already. A line that has moved in its file since has another number
    /// in its key.
    fn has(&self, key: &SignalKey, numbered: &NumberedSignal<'_>) -> bool {
        let Some(stored) = self.0.get(&key.moment) else {
            return false;
        };
        let wanted = key.identifier_and_index.as_str();
        if !numbered.has_key_of_line {
            return stored.whole.contains(wanted);
        }
        without_number(wanted).is_some_and(|wanted| stored.without_number.contains(wanted))
    }

    /// Adds a signal that was written.
    fn add(&mut self, key: &SignalKey) {
        if let Some(keys) = self.0.get_mut(&key.moment) {
            keys.add(&key.identifier_and_index);
        }
    }
}

impl StoredKeys {
    fn add(&mut self, identifier_and_index: &str) {
        self.whole.insert(identifier_and_index.to_owned());
        if let Some(rest) = without_number(identifier_and_index) {
            self.without_number.insert(rest.to_owned());
        }
    }
}

impl NumberedSignal<'_> {
    /// The lines of a signal that is in the table. Each line but the first replaces the one before it.
    fn finish_stored(&self, was_stored_before: bool) -> Vec<FinishedLine> {
        let mut is_stored = was_stored_before;
        self.finish(|| {
            let outcome = match (is_stored, self.has_key_of_line) {
                (false, _) => LineOutcome::Stored,
                (true, true) => LineOutcome::AlreadyStored,
                (true, false) => LineOutcome::Replaced,
            };
            is_stored = true;
            outcome
        })
    }

    fn finish(&self, mut outcome: impl FnMut() -> LineOutcome) -> Vec<FinishedLine> {
        let finished = self.lines.iter().map(|number| FinishedLine {
            number: *number,
            outcome: outcome(),
        });
        finished.collect()
    }
}

/// Parses the signal of a line. `None` if it is not valid, which goes to the report.
fn parse_signal<'a>(
    line: &'a ParsedLine<'_>,
    index: usize,
    report: &mut ImportReport,
) -> Option<Signal<'a>> {
    let json = line.content.signal();
    match Signal::parse(json.value(), index, &JsonPointer::Root) {
        Ok(signal) => {
            report_unknown_fields(&signal, report);
            Some(signal)
        }
        Err(rejected) => {
            report.add(line.number, LineOutcome::invalid(rejected.errors));
            None
        }
    }
}

fn report_unknown_fields(signal: &Signal<'_>, report: &mut ImportReport) {
    for (name, _) in signal.unknown_fields().into_iter().flatten() {
        if let Ok(name) = name.decode() {
            report.add_unknown_field(&name);
        }
    }
}
