//! Stores a chunk as the functions would store its lines.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::customer::CustomerUpdate;
use model::identifier::RequestIdentifier;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use store::batch_context::BatchContext;
use store::customers::CustomersTable;
use store::deadline::Deadline;
use store::error::StoreError;
use store::signals::SignalsTable;
use uuid::Uuid;

use super::checkpoint::{Source, State};
use super::chunks::{Chunk, Kind};
use super::line::ImportLine;
use super::outcome::{LineError, Outcome, Outcomes};
use crate::error::store_error;
use crate::stack::{Stack, WRITE_TIMEOUT};

/// How many requests, or customers, are stored at once.
const CONCURRENCY: usize = 32;

/// Stores the chunks of one import.
pub(super) struct Writer {
    source: Source,
    import: Uuid,
    signals: SignalsTable,
    customers: CustomersTable,
}

/// Lines with the time and the request identifier of one request.
struct Request<'a> {
    received_at: Timestamp,
    identifier: &'a RequestIdentifier,
    /// By what makes the key of a signal in its request: of lines with the same key, the last one counts.
    signals: BTreeMap<(String, usize), (u64, Signal<'a>)>,
}

/// The number of a line, and what became of it.
type LineOutcome = (u64, Outcome);

/// The number of a line, the time of the update, and the update.
type Update<'a> = (u64, Timestamp, CustomerUpdate<'a>);

impl Writer {
    pub(super) fn new(stack: &Stack, state: &State, retention: Option<Duration>) -> Self {
        let (client, source) = (stack.client.clone(), state.source.clone());
        let signals = SignalsTable::new(client.clone(), &source.table, retention);
        Self { customers: CustomersTable::new(client, &source.table), signals, source, import: state.import }
    }

    /// Stores the valid lines of a chunk. When it returns, DynamoDB has acknowledged them.
    pub(super) async fn store(&self, chunk: &Chunk, outcomes: &mut Outcomes) -> Result<()> {
        let stored = match self.source.kind {
            Kind::Signals => self.store_signals(chunk, outcomes).await?,
            Kind::Customers => self.store_customers(chunk, outcomes).await?,
        };
        for (number, outcome) in stored {
            outcomes.add(number, outcome);
        }
        Ok(())
    }

    async fn store_signals(&self, chunk: &Chunk, outcomes: &mut Outcomes) -> Result<Vec<LineOutcome>> {
        let (now, chunk_identifier) = (Timestamp::now(), request_identifier(self.import, chunk.begin.line));
        let lines = parse_lines(chunk, outcomes, |line| ImportLine::of_signal(line, now));
        let mut requests: BTreeMap<(Timestamp, &str), Request<'_>> = BTreeMap::new();
        for (number, line) in &lines {
            let received_at = line.time.unwrap_or(self.source.received_at);
            if self.signals.expires_at(received_at).is_some_and(|end| end <= now) {
                outcomes.add(*number, Outcome::Expired);
                continue;
            }
            let index_in_chunk = usize::try_from(number - chunk.begin.line - 1)?;
            let (identifier, index) = match &line.origin {
                Some((identifier, index)) => (identifier, *index),
                None => (&chunk_identifier, index_in_chunk),
            };
            match Signal::parse(line.json().value(), index, &JsonPointer::Root) {
                Ok(signal) => {
                    let names =
                        signal.unknown_fields().into_iter().flatten().filter_map(|(name, _)| name.decode().ok());
                    names.for_each(|name| outcomes.add_unknown_field(&name));
                    let new = || Request { received_at, identifier, signals: BTreeMap::new() };
                    let request = requests.entry((received_at, identifier.as_sent())).or_insert_with(new);
                    let key = (signal.subject_id().to_owned(), index);
                    if let Some((replaced, _)) = request.signals.insert(key, (*number, signal)) {
                        outcomes.add(replaced, Outcome::Stored);
                    }
                }
                Err(rejected) => outcomes.add(*number, Outcome::invalid(rejected.errors)),
            }
        }
        let work: Vec<_> = requests.into_values().map(|request| self.store_request(request)).collect();
        stream::iter(work).buffer_unordered(CONCURRENCY).try_concat().await
    }

    async fn store_request(&self, request: Request<'_>) -> Result<Vec<LineOutcome>> {
        let (lines, signals): (Vec<_>, Vec<_>) = request.signals.into_values().unzip();
        let context = BatchContext {
            account_id: &self.source.account,
            key_id: "",
            request_identifier: request.identifier,
            received_at: request.received_at,
            request_id: "",
        };
        let refused = self.signals.store(context, &signals, Deadline::after(WRITE_TIMEOUT)).await;
        let refused = refused.map_err(|unstored| store_error(&self.source.table, &unstored.error))?;
        let outcome = |signal: &Signal<'_>| {
            if refused.contains(&signal.index()) { Outcome::refused() } else { Outcome::Stored }
        };
        Ok(lines.into_iter().zip(signals.iter().map(outcome)).collect())
    }

    async fn store_customers(&self, chunk: &Chunk, outcomes: &mut Outcomes) -> Result<Vec<LineOutcome>> {
        let now = Timestamp::now();
        let lines = parse_lines(chunk, outcomes, |line| ImportLine::of_customer(line, now));
        // Customers at once, the updates of one customer in the order of the lines.
        let mut customers: BTreeMap<String, Vec<Update<'_>>> = BTreeMap::new();
        for (number, line) in &lines {
            let updates = match line.requests().map(CustomerUpdate::parse).collect::<Result<Vec<_>, _>>() {
                Ok(updates) => updates,
                Err(errors) => {
                    outcomes.add(*number, Outcome::invalid(errors));
                    continue;
                }
            };
            for update in updates {
                // One warning has no field: it says that there are more than it lists.
                let names = update.warnings().iter().map(|warning| &warning.at.field).filter(|name| !name.is_empty());
                names.for_each(|name| outcomes.add_unknown_field(name));
                let updated_at = line.time.unwrap_or(self.source.received_at);
                customers.entry(update.customer_id().to_owned()).or_default().push((*number, updated_at, update));
            }
        }
        let work: Vec<_> = customers.values().map(|updates| self.update_customer(updates)).collect();
        stream::iter(work).buffer_unordered(CONCURRENCY).try_concat().await
    }

    async fn update_customer(&self, updates: &[Update<'_>]) -> Result<Vec<LineOutcome>> {
        let mut outcomes = BTreeMap::new();
        for (number, updated_at, update) in updates {
            let deadline = Deadline::after(WRITE_TIMEOUT);
            let outcome =
                match self.customers.upsert_unless_newer(&self.source.account, update, *updated_at, deadline).await {
                    Ok(true) => Outcome::Stored,
                    Ok(false) => Outcome::Skipped,
                    Err(StoreError::Invalid | StoreError::ItemTooLarge) => Outcome::refused(),
                    Err(error) => return Err(store_error(&self.source.table, &error)),
                };
            // A line may be several updates: it is stored when all of them are.
            match outcome {
                Outcome::Stored => drop(outcomes.entry(*number).or_insert(Outcome::Stored)),
                outcome => drop(outcomes.insert(*number, outcome)),
            }
        }
        Ok(outcomes.into_iter().collect())
    }
}

/// The request identifier of a chunk: the UUID of the import with the lines before the chunk in its last 48 bits.
fn request_identifier(import: Uuid, line: u64) -> RequestIdentifier {
    let mask = 0xffff_ffff_ffff;
    let uuid = Uuid::from_u128((import.as_u128() & !mask) | (u128::from(line) & mask));
    RequestIdentifier::parse(uuid).unwrap_or_else(RequestIdentifier::random)
}

/// Parses each line that is not empty, with its number; rejects those that cannot be parsed.
fn parse_lines<'a>(
    chunk: &'a Chunk,
    outcomes: &mut Outcomes,
    parse: impl Fn(JsonText<'a>) -> Result<ImportLine<'a>, LineError>,
) -> Vec<(u64, ImportLine<'a>)> {
    let mut parsed = Vec::with_capacity(chunk.lines.len());
    for (number, line) in (chunk.begin.line + 1..).zip(&chunk.lines) {
        let json = match line {
            Ok(text) if text.is_empty() => continue,
            Ok(text) => JsonText::parse(text).map_err(|error| {
                LineError::malformed(format!("The line is not JSON: {} at column {}.", error.reason, error.column))
            }),
            Err(error) => Err(error.clone()),
        };
        match json.and_then(&parse) {
            Ok(line) => parsed.push((number, line)),
            Err(error) => outcomes.add(number, Outcome::Rejected(vec![error])),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_of_an_import_has_a_constant_identifier() {
        let import = Uuid::new_v4();
        let identifier = |line| request_identifier(import, line).canonical();
        assert_eq!(identifier(0).get(..24), identifier(500).get(..24));
        assert_eq!(identifier(500), identifier(500));
        assert!(identifier(0).ends_with("-000000000000") && identifier(500).ends_with("-0000000001f4"));
    }
}
