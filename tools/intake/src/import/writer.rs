//! Stores a chunk as the functions would store its lines.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::CustomerUpdate;
use model::deadline::Deadline;
use model::identifier::{RequestIdentifier, UuidText};
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use store::batch_context::BatchContext;
use store::customers::CustomersTable;
use store::error::StoreError;
use store::signals::SignalsTable;
use uuid::Uuid;

use super::Kind;
use super::checkpoint::State;
use super::chunks::{Chunk, Position};
use super::line::{self, ImportLine};
use super::outcome::{LineError, Outcomes};
use crate::error::store_error;
use crate::stack::{Stack, WRITE_TIMEOUT};

/// How many requests of a chunk of signals, or customers, are stored at once.
const CONCURRENCY: usize = 32;

/// Stores the chunks of one import.
pub(super) struct Writer {
    account: AccountId,
    kind: Kind,
    received_at: Timestamp,
    import: Uuid,
    table: String,
    signals: SignalsTable,
    customers: CustomersTable,
}

/// Signals that have the time and the request identifier of one request, and the numbers of their lines.
struct Request<'a> {
    received_at: Timestamp,
    identifier: &'a RequestIdentifier,
    signals: Vec<Signal<'a>>,
    lines: Vec<u64>,
}

/// The number of a line, the time of the update, and the update.
type Update<'a> = (u64, Timestamp, CustomerUpdate<'a>);

/// What became of an update.
enum UpdateResult {
    Stored,
    /// A newer update is stored.
    Skipped,
    Refused,
}

impl Writer {
    pub(super) fn new(stack: &Stack, state: &State, retention: Option<Duration>) -> Self {
        let client = stack.client.clone();
        Self {
            account: state.account.clone(),
            kind: state.kind,
            received_at: state.received_at,
            import: state.import,
            table: state.table.clone(),
            signals: SignalsTable::new(client.clone(), &state.table, retention),
            customers: CustomersTable::new(client, &state.table),
        }
    }

    /// Stores the valid lines of a chunk. When it returns, DynamoDB has acknowledged them.
    pub(super) async fn store(&self, chunk: Chunk) -> Result<(Position, Outcomes)> {
        let mut outcomes = Outcomes::default();
        match self.kind {
            Kind::Signals => self.store_signals(&chunk, &mut outcomes).await?,
            Kind::Customers => self.store_customers(&chunk, &mut outcomes).await?,
        }
        Ok((chunk.end, outcomes.sorted()))
    }

    async fn store_signals(&self, chunk: &Chunk, outcomes: &mut Outcomes) -> Result<()> {
        let (now, chunk_identifier) = (Timestamp::now(), request_identifier(self.import, chunk.begin.chunk));
        let lines = parse_lines(chunk, outcomes, ImportLine::of_signal);
        let mut requests: HashMap<(Timestamp, String), Request<'_>> = HashMap::new();
        for (number, line) in &lines {
            let received_at = line.time.unwrap_or(self.received_at);
            if self.signals.has_expired(received_at, now) {
                outcomes.counts.expired += 1;
                continue;
            }
            let index_in_chunk = usize::try_from(number - chunk.begin.line - 1).unwrap_or_default();
            let (identifier, index) = match &line.origin {
                Some((identifier, index)) => (identifier, *index),
                None => (&chunk_identifier, index_in_chunk),
            };
            match Signal::parse(line.json(), index, &JsonPointer::Root) {
                Ok(signal) => {
                    let names = signal.unknown_fields.iter().filter_map(|(name, _)| name.decode().ok());
                    outcomes.note_unknown_fields(names);
                    outcomes.counts.stored += 1;
                    let new = Request { received_at, identifier, signals: Vec::new(), lines: Vec::new() };
                    requests.entry((received_at, identifier.as_sent().to_owned())).or_insert(new).add(*number, signal);
                }
                Err(rejected) => outcomes.reject_invalid(*number, rejected.errors),
            }
        }
        let work: Vec<_> = requests.values().map(|request| self.store_request(request)).collect();
        let refused: Vec<u64> = stream::iter(work).buffer_unordered(CONCURRENCY).try_concat().await?;
        for number in refused {
            outcomes.counts.stored -= 1;
            outcomes.reject_refused(number);
        }
        Ok(())
    }

    /// Returns the numbers of the lines that DynamoDB refused.
    async fn store_request(&self, request: &Request<'_>) -> Result<Vec<u64>> {
        let Request { received_at, identifier, signals, lines } = request;
        let context = BatchContext::without_request(&self.account, identifier, *received_at);
        let refused = self.signals.put(context, signals, Deadline::after(WRITE_TIMEOUT)).await;
        let refused = refused.map_err(|unstored| store_error(&self.table, &unstored.error))?;
        let is_refused = |signal: &Signal<'_>| refused.contains(&signal.index);
        Ok(signals.iter().zip(lines).filter(|(signal, _)| is_refused(signal)).map(|(_, line)| *line).collect())
    }

    async fn store_customers(&self, chunk: &Chunk, outcomes: &mut Outcomes) -> Result<()> {
        let lines = parse_lines(chunk, outcomes, ImportLine::of_customer);
        let mut updates: Vec<Update<'_>> = Vec::with_capacity(lines.len());
        for (number, line) in &lines {
            match CustomerUpdate::parse(line.json()) {
                Ok(update) => {
                    // One warning has no field: it says that there are more than it lists.
                    let names = update.warnings.iter().map(|warning| &warning.at.field).filter(|name| !name.is_empty());
                    outcomes.note_unknown_fields(names);
                    updates.push((*number, line.time.unwrap_or(self.received_at), update));
                }
                Err(errors) => outcomes.reject_invalid(*number, errors),
            }
        }
        // Customers at once, the updates of one customer in the order of the lines.
        updates.sort_by(|(a, _, one), (b, _, other)| (&one.customer_id, a).cmp(&(&other.customer_id, b)));
        let of_one = updates.chunk_by(|(_, _, one), (_, _, other)| one.customer_id == other.customer_id);
        let work: Vec<_> = of_one.map(|updates| self.update_customer(updates)).collect();
        let results: Vec<_> = stream::iter(work).buffer_unordered(CONCURRENCY).try_concat().await?;
        for (number, result) in results {
            match result {
                UpdateResult::Stored => outcomes.counts.stored += 1,
                UpdateResult::Skipped => outcomes.counts.skipped += 1,
                UpdateResult::Refused => outcomes.reject_refused(number),
            }
        }
        Ok(())
    }

    async fn update_customer(&self, updates: &[Update<'_>]) -> Result<Vec<(u64, UpdateResult)>> {
        let mut results = Vec::with_capacity(updates.len());
        for (number, updated_at, update) in updates {
            let deadline = Deadline::after(WRITE_TIMEOUT);
            let result = match self.customers.upsert_unless_newer(&self.account, update, *updated_at, deadline).await {
                Ok(true) => UpdateResult::Stored,
                Ok(false) => UpdateResult::Skipped,
                Err(StoreError::Invalid | StoreError::ItemTooLarge) => UpdateResult::Refused,
                Err(error) => return Err(store_error(&self.table, &error)),
            };
            results.push((*number, result));
        }
        Ok(results)
    }
}

impl<'a> Request<'a> {
    /// Adds a signal, in place of one with the same key: DynamoDB rejects a batch that has a key twice.
    fn add(&mut self, line: u64, signal: Signal<'a>) {
        let is_same = |other: &Signal<'_>| {
            other.index == signal.index && other.identity.subject_id() == signal.identity.subject_id()
        };
        if let Some(position) = self.signals.iter().position(is_same) {
            self.signals.remove(position);
            self.lines.remove(position);
        }
        self.signals.push(signal);
        self.lines.push(line);
    }
}

/// The request identifier of a chunk: the UUID of the import with the number of the chunk in its last 48 bits.
fn request_identifier(import: Uuid, chunk: u64) -> RequestIdentifier {
    let mask = 0xffff_ffff_ffff;
    let uuid = Uuid::from_u128((import.as_u128() & !mask) | (u128::from(chunk) & mask));
    UuidText::parse(uuid.to_string()).map_or_else(RequestIdentifier::random, RequestIdentifier::from)
}

/// Parses each line that is not empty, with its number; rejects those that cannot be parsed.
fn parse_lines<'a, T>(
    chunk: &'a Chunk,
    outcomes: &mut Outcomes,
    parse: impl Fn(JsonText<'a>) -> Result<T, LineError>,
) -> Vec<(u64, T)> {
    let mut parsed = Vec::with_capacity(chunk.lines.len());
    for (number, line) in (chunk.begin.line + 1..).zip(&chunk.lines) {
        match line::parse(line).and_then(|json| json.map(&parse).transpose()) {
            Ok(line) => parsed.extend(line.map(|line| (number, line))),
            Err(error) => outcomes.reject(number, vec![error]),
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
        let identifier = |chunk| request_identifier(import, chunk).canonical();
        assert_ne!(identifier(0), identifier(1));
        assert_eq!(identifier(0).get(..24), identifier(1).get(..24));
        assert_eq!(identifier(1), identifier(1));
        assert!(identifier(1).ends_with("-000000000001"));
    }
}
