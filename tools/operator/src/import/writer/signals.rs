//! Stores the signals of a chunk, as the requests that they came with or as one request of the
//! chunk.

use std::collections::BTreeMap;

use anyhow::Result;
use aws::deadline::Deadline;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::identifier::RequestIdentifier;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::signals::SignalsTable;

use super::super::chunks::Chunk;
use super::super::line::ParsedLine;
use super::super::report::{ImportReport, LineOutcome};
use super::{CONCURRENCY, FinishedLine};
use crate::error::store_error;
use crate::{Tables, WRITE_TIMEOUT};

/// What makes the key of a signal in its request.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SignalKey {
    subject_id: String,
    index: usize,
}

/// What the signals of one request have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RequestKey<'a> {
    received_at: Timestamp,
    identifier: &'a str,
}

/// A signal, and the lines that have its key. It is the signal of the last of these lines: it
/// replaces those of the others, so its outcome is the outcome of all of them.
struct NumberedSignal<'a> {
    lines: Vec<u64>,
    signal: Signal<'a>,
}

/// Signals with the time and the request identifier of one request.
struct ImportedRequest<'a> {
    received_at: Timestamp,
    identifier: &'a RequestIdentifier,
    signals: BTreeMap<SignalKey, NumberedSignal<'a>>,
}

impl<'a> ImportedRequest<'a> {
    fn new(received_at: Timestamp, identifier: &'a RequestIdentifier) -> Self {
        Self {
            received_at,
            identifier,
            signals: BTreeMap::new(),
        }
    }

    /// Adds the signal of a line, in place of the signal of an earlier line with the same key.
    fn insert(&mut self, index: usize, line: u64, signal: Signal<'a>) {
        let key = SignalKey {
            subject_id: signal.subject_id().to_owned(),
            index,
        };
        let replaced = self.signals.remove(&key);
        let mut lines = replaced.map_or_else(Vec::new, |replaced| replaced.lines);
        lines.push(line);
        self.signals.insert(key, NumberedSignal { lines, signal });
    }
}

/// Stores signals of one account.
pub(in crate::import) struct SignalsWriter<'a> {
    account: &'a AccountId,
    table_name: &'a str,
    table: SignalsTable,
}

impl<'a> SignalsWriter<'a> {
    pub(super) fn new(tables: &'a Tables, account: &'a AccountId) -> Self {
        let table_name = tables.signals.as_str();
        let client = tables.dynamodb.clone();
        Self {
            account,
            table_name,
            table: SignalsTable::new(client, table_name, tables.retention),
        }
    }

    pub(super) async fn store(
        &self,
        chunk: &Chunk,
        lines: &[ParsedLine<'_>],
        report: &mut ImportReport,
    ) -> Result<Vec<FinishedLine>> {
        let requests = self.group_by_request(chunk, lines, report)?;
        let work: Vec<_> = requests
            .into_iter()
            .map(|request| self.store_request(request))
            .collect();
        stream::iter(work)
            .buffer_unordered(CONCURRENCY)
            .try_concat()
            .await
    }

    /// The requests to store. Lines of which nothing is to be stored go to the report.
    fn group_by_request<'l>(
        &self,
        chunk: &'l Chunk,
        lines: &'l [ParsedLine<'_>],
        report: &mut ImportReport,
    ) -> Result<Vec<ImportedRequest<'l>>> {
        let now = Timestamp::now();
        let mut requests: BTreeMap<RequestKey<'l>, ImportedRequest<'l>> = BTreeMap::new();
        for line in lines {
            if self.is_expired(line.time, now) {
                report.add(line.number, LineOutcome::Expired);
                continue;
            }
            let (identifier, index) = identifier_and_index(chunk, line)?;
            let Some(signal) = parse_signal(line, index, report) else {
                continue;
            };
            let request_key = RequestKey {
                received_at: line.time,
                identifier: identifier.as_sent(),
            };
            let request = requests
                .entry(request_key)
                .or_insert_with(|| ImportedRequest::new(line.time, identifier));
            request.insert(index, line.number, signal);
        }
        Ok(requests.into_values().collect())
    }

    fn is_expired(&self, received_at: Timestamp, now: Timestamp) -> bool {
        let expires_at = self.table.expires_at(received_at);
        expires_at.is_some_and(|end| end <= now)
    }

    async fn store_request(&self, request: ImportedRequest<'_>) -> Result<Vec<FinishedLine>> {
        let context = BatchContext {
            account_id: self.account,
            key_id: "",
            request_identifier: request.identifier,
            first_received_at: request.received_at,
            request_id: "",
        };
        let signals = request.signals.values().map(|numbered| &numbered.signal);
        let deadline = Deadline::after(WRITE_TIMEOUT);
        let stored = self.table.store(context, signals, deadline).await;
        let mut finished = Vec::with_capacity(stored.len());
        for (numbered, stored) in request.signals.values().zip(stored) {
            let is_stored = match stored {
                ItemOutcome::Stored => true,
                ItemOutcome::Invalid => false,
                ItemOutcome::Unacknowledged(error) => {
                    return Err(store_error(self.table_name, &error));
                }
            };
            for number in &numbered.lines {
                let outcome = if is_stored {
                    LineOutcome::Stored
                } else {
                    LineOutcome::refused()
                };
                finished.push(FinishedLine {
                    number: *number,
                    outcome,
                });
            }
        }
        Ok(finished)
    }
}

/// The identifier of the request that a signal is stored with, and its index in that request: those
/// that the line has, or those of its place in the chunk.
fn identifier_and_index<'a>(
    chunk: &'a Chunk,
    line: &'a ParsedLine<'_>,
) -> Result<(&'a RequestIdentifier, usize)> {
    if let Some(place) = &line.content.place {
        return Ok((&place.request_identifier, place.index));
    }
    let index = usize::try_from(line.number - chunk.first_line)?;
    Ok((&chunk.identifier, index))
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
