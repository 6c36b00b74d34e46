//! Stores the signals of a chunk, as the requests that they came with or as one request of the
//! chunk.

use std::collections::BTreeMap;

use anyhow::Result;
use aws::deadline::Deadline;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::identifier::RequestIdentifier;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use store::ItemOutcome;
use store::batch_context::BatchContext;

use super::super::chunks::Chunk;
use super::super::line::ParsedLine;
use super::super::report::{ImportReport, LineOutcome};
use super::{CONCURRENCY, FinishedLine, Writer};
use crate::error::store_error;
use crate::stack::WRITE_TIMEOUT;

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

struct NumberedSignal<'a> {
    line: u64,
    signal: Signal<'a>,
}

/// Signals with the time and the request identifier of one request. Of signals with the same key,
/// the one of the last line is stored.
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
}

impl Writer<'_> {
    pub(super) async fn store_signals(
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
            let index_in_chunk = usize::try_from(line.number - chunk.first_line)?;
            let (identifier, index) = match &line.content.origin {
                Some(origin) => (&origin.request_identifier, origin.index),
                None => (&chunk.identifier, index_in_chunk),
            };
            let json = line.content.signal();
            let signal = match Signal::parse(json.value(), index, &JsonPointer::Root) {
                Ok(signal) => signal,
                Err(rejected) => {
                    report.add(line.number, LineOutcome::invalid(rejected.errors));
                    continue;
                }
            };
            report_unknown_fields(&signal, report);
            let request_key = RequestKey {
                received_at: line.time,
                identifier: identifier.as_sent(),
            };
            let request = requests
                .entry(request_key)
                .or_insert_with(|| ImportedRequest::new(line.time, identifier));
            let key = SignalKey {
                subject_id: signal.subject_id().to_owned(),
                index,
            };
            let numbered = NumberedSignal {
                line: line.number,
                signal,
            };
            let replaced = request.signals.insert(key, numbered);
            if let Some(replaced) = replaced {
                report.add(replaced.line, LineOutcome::Stored);
            }
        }
        Ok(requests.into_values().collect())
    }

    fn is_expired(&self, received_at: Timestamp, now: Timestamp) -> bool {
        let expires_at = self.signals.expires_at(received_at);
        expires_at.is_some_and(|end| end <= now)
    }

    async fn store_request(&self, request: ImportedRequest<'_>) -> Result<Vec<FinishedLine>> {
        let context = BatchContext {
            account_id: self.account,
            key_id: "",
            request_identifier: request.identifier,
            received_at: request.received_at,
            request_id: "",
        };
        let signals = request.signals.values().map(|numbered| &numbered.signal);
        let deadline = Deadline::after(WRITE_TIMEOUT);
        let stored = self.signals.store(context, signals, deadline).await;
        let mut finished = Vec::with_capacity(stored.len());
        for (numbered, stored) in request.signals.values().zip(stored) {
            let outcome = match stored {
                ItemOutcome::Stored => LineOutcome::Stored,
                ItemOutcome::Invalid => LineOutcome::refused(),
                ItemOutcome::Unacknowledged(error) => return Err(store_error(self.table, &error)),
            };
            finished.push(FinishedLine {
                number: numbered.line,
                outcome,
            });
        }
        Ok(finished)
    }
}

fn report_unknown_fields(signal: &Signal<'_>, report: &mut ImportReport) {
    for (name, _) in signal.unknown_fields().into_iter().flatten() {
        if let Ok(name) = name.decode() {
            report.add_unknown_field(&name);
        }
    }
}
