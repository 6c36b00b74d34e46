//! Stores a chunk as the functions would store its lines.

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
use super::chunks::{Chunk, Line};
use super::line::{self, ImportLine};
use super::outcome::{LineError, Outcomes, StoredChunk};
use crate::error::{is_transient, store_error};
use crate::stack::{Stack, WRITE_TIMEOUT};

/// The retries of a call. A table that was just created takes a while to grow.
const RETRIES: u32 = 5;

/// The wait before the first retry; it doubles each time.
const BACKOFF_BASE: Duration = Duration::from_secs(1);

/// How many customers are updated at once.
const CONCURRENT_CUSTOMERS: usize = 32;

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

/// The index of a line in its chunk, the time of the update, and the update.
type Update<'a> = (usize, Timestamp, CustomerUpdate<'a>);

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
    pub(super) async fn store(&self, chunk: Chunk) -> Result<StoredChunk> {
        let mut outcomes = Outcomes::default();
        match self.kind {
            Kind::Signals => self.store_signals(&chunk, &mut outcomes).await?,
            Kind::Customers => self.store_customers(&chunk, &mut outcomes).await?,
        }
        Ok(outcomes.into_stored_chunk(chunk.begin, chunk.end))
    }

    async fn store_signals(&self, chunk: &Chunk, outcomes: &mut Outcomes) -> Result<()> {
        let (now, chunk_identifier) = (Timestamp::now(), request_identifier(self.import, chunk.begin.chunk));
        let lines = parse_lines(&chunk.lines, outcomes, ImportLine::of_signal);
        let (mut signals, mut indices) = (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()));
        for (index, line) in &lines {
            let received_at = line.time.unwrap_or(self.received_at);
            if self.signals.has_expired(received_at, now) {
                outcomes.counts.expired += 1;
                continue;
            }
            let origin = line.origin.as_ref().map(|(identifier, index)| (identifier, *index));
            let (identifier, index_in_request) = origin.unwrap_or((&chunk_identifier, *index));
            match Signal::parse(line.json(), index_in_request, &JsonPointer::Root) {
                Ok(signal) => {
                    let names = signal.unknown_fields.iter().filter_map(|(name, _)| name.decode().ok());
                    names.for_each(|name| outcomes.unknown_fields.count(&name, 1));
                    indices.push(*index);
                    signals.push((BatchContext::without_request(&self.account, identifier, received_at), signal));
                }
                Err(rejected) => outcomes.reject(*index, rejected.errors),
            }
        }
        let refused =
            self.retry(async || Ok(self.signals.put_each(&signals, Deadline::after(WRITE_TIMEOUT)).await?)).await?;
        outcomes.counts.stored = (signals.len() - refused.len()) as u64;
        refused.into_iter().filter_map(|position| indices.get(position)).for_each(|index| outcomes.refused(*index));
        Ok(())
    }

    async fn store_customers(&self, chunk: &Chunk, outcomes: &mut Outcomes) -> Result<()> {
        let lines = parse_lines(&chunk.lines, outcomes, ImportLine::of_customer);
        let mut updates = Vec::with_capacity(lines.len());
        for (index, line) in &lines {
            match CustomerUpdate::parse(line.json()) {
                Ok(update) => {
                    // One warning has no field: it says that there are more than it lists.
                    let names = update.warnings.iter().map(|warning| &warning.at.field).filter(|name| !name.is_empty());
                    names.for_each(|name| outcomes.unknown_fields.count(name, 1));
                    updates.push((*index, line.time.unwrap_or(self.received_at), update));
                }
                Err(errors) => outcomes.reject(*index, errors),
            }
        }
        for (index, result) in self.update_customers(updates).await? {
            match result {
                UpdateResult::Stored => outcomes.counts.stored += 1,
                UpdateResult::Skipped => outcomes.counts.skipped += 1,
                UpdateResult::Refused => outcomes.refused(index),
            }
        }
        Ok(())
    }

    /// Updates customers concurrently, one customer in the order of the lines; returns the result of each line.
    async fn update_customers(&self, mut updates: Vec<Update<'_>>) -> Result<Vec<(usize, UpdateResult)>> {
        updates.sort_by(|(a, _, one), (b, _, other)| (&one.customer_id, a).cmp(&(&other.customer_id, b)));
        let of_one = updates.chunk_by(|(_, _, one), (_, _, other)| one.customer_id == other.customer_id);
        let work: Vec<_> = of_one.map(|updates| self.update_customer(updates)).collect();
        stream::iter(work).buffer_unordered(CONCURRENT_CUSTOMERS).try_concat().await
    }

    async fn update_customer(&self, updates: &[Update<'_>]) -> Result<Vec<(usize, UpdateResult)>> {
        let mut results = Vec::with_capacity(updates.len());
        for (index, updated_at, update) in updates {
            let upsert = || async {
                let deadline = Deadline::after(WRITE_TIMEOUT);
                match self.customers.upsert_unless_newer(&self.account, update, *updated_at, deadline).await {
                    Ok(true) => Ok(UpdateResult::Stored),
                    Ok(false) => Ok(UpdateResult::Skipped),
                    Err(StoreError::Invalid | StoreError::ItemTooLarge) => Ok(UpdateResult::Refused),
                    Err(error) => Err(error),
                }
            };
            results.push((*index, self.retry(upsert).await?));
        }
        Ok(results)
    }

    /// Repeats a call while DynamoDB is throttled or unavailable. Repeating the calls of an import changes nothing.
    async fn retry<T, F>(&self, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let (mut retries, mut backoff) = (RETRIES, BACKOFF_BASE);
        loop {
            match call().await {
                Err(error) if retries > 0 && is_transient(&error) => tokio::time::sleep(backoff).await,
                result => return result.map_err(|error| store_error(&self.table, &error)),
            }
            retries -= 1;
            backoff *= 2;
        }
    }
}

/// The request identifier of a chunk: the UUID of the import with the number of the chunk in its last 48 bits.
fn request_identifier(import: Uuid, chunk: u64) -> RequestIdentifier {
    let mask = 0xffff_ffff_ffff;
    let uuid = Uuid::from_u128((import.as_u128() & !mask) | (u128::from(chunk) & mask));
    UuidText::parse(uuid.to_string()).map_or_else(RequestIdentifier::random, RequestIdentifier::from)
}

/// Parses each line that is not empty, with its index; rejects those that cannot be parsed.
fn parse_lines<'a, T>(
    lines: &'a [Line],
    outcomes: &mut Outcomes,
    parse: impl Fn(JsonText<'a>) -> Result<T, LineError>,
) -> Vec<(usize, T)> {
    let mut parsed = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        match line::parse(line).and_then(|json| json.map(&parse).transpose()) {
            Ok(line) => parsed.extend(line.map(|line| (index, line))),
            Err(error) => outcomes.reject_unparsed(index, error),
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
