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
use model::validation::FieldError;
use store::batch_context::BatchContext;
use store::customers::CustomersTable;
use store::error::StoreError;
use store::signals::SignalsTable;
use uuid::Uuid;

use super::Kind;
use super::checkpoint::State;
use super::chunks::{Chunk, Line};
use super::error_file::{LineError, LineErrors, StoredChunk};
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

/// Indices of lines in their chunk, and what is wrong with each.
type IndexedErrors = Vec<(usize, Vec<LineError>)>;

impl Writer {
    pub(super) fn new(stack: &Stack, state: &State, retention: Option<Duration>) -> Self {
        Self {
            account: state.account.clone(),
            kind: state.kind,
            received_at: state.received_at,
            import: state.import,
            table: state.table.clone(),
            signals: SignalsTable::new(stack.client.clone(), &state.table, retention),
            customers: CustomersTable::new(stack.client.clone(), &state.table),
        }
    }

    /// Stores the valid lines of a chunk. When it returns, DynamoDB has acknowledged them.
    pub(super) async fn store(&self, chunk: Chunk) -> Result<StoredChunk> {
        let mut errors = IndexedErrors::new();
        let (valid, refused) = match self.kind {
            Kind::Signals => {
                let parse =
                    |text, index| Signal::parse(text, index, &JsonPointer::Root).map_err(|rejected| rejected.errors);
                let signals = parse_lines(&chunk.lines, &mut errors, parse);
                (signals.len(), self.put_signals(chunk.begin.chunk, &signals).await?)
            }
            Kind::Customers => {
                let parse = |text, index| CustomerUpdate::parse(text).map(|update| (index, update));
                let updates = parse_lines(&chunk.lines, &mut errors, parse);
                (updates.len(), self.update_customers(updates).await?)
            }
        };
        let count = (valid - refused.len()) as u64;
        errors.extend(
            refused
                .into_iter()
                .map(|index| (index, vec![LineError::Validation(FieldError::refused_by_store(&JsonPointer::Root))])),
        );
        errors.sort_by_key(|(index, _)| *index);
        let number = |index: usize| chunk.begin.line + index as u64 + 1;
        let errors = errors.into_iter().map(|(index, errors)| LineErrors { line: number(index), errors }).collect();
        Ok(StoredChunk { end: chunk.end, count, errors })
    }

    /// Stores the signals of a chunk; returns the indices of those that DynamoDB refused.
    async fn put_signals(&self, chunk: u64, signals: &[Signal<'_>]) -> Result<Vec<usize>> {
        let request_identifier = &request_identifier(self.import, chunk);
        let context = BatchContext::without_request(&self.account, request_identifier, self.received_at);
        self.retry(|| self.signals.put(context, signals, Deadline::after(WRITE_TIMEOUT))).await
    }

    /// Updates customers concurrently, one customer in the order of the lines; returns the indices that DynamoDB refused.
    async fn update_customers(&self, mut updates: Vec<(usize, CustomerUpdate<'_>)>) -> Result<Vec<usize>> {
        updates.sort_by(|(a, one), (b, other)| (&one.customer_id, a).cmp(&(&other.customer_id, b)));
        let of_one = updates.chunk_by(|(_, one), (_, other)| one.customer_id == other.customer_id);
        let work: Vec<_> = of_one.map(|updates| self.update_customer(updates)).collect();
        stream::iter(work).buffer_unordered(CONCURRENT_CUSTOMERS).try_concat().await
    }

    async fn update_customer(&self, updates: &[(usize, CustomerUpdate<'_>)]) -> Result<Vec<usize>> {
        let mut refused = Vec::new();
        for (index, update) in updates {
            let upsert = || async {
                let deadline = Deadline::after(WRITE_TIMEOUT);
                match self.customers.upsert(&self.account, update, self.received_at, deadline).await {
                    Err(StoreError::Invalid | StoreError::ItemTooLarge) => Ok(Some(*index)),
                    result => result.map(|_| None),
                }
            };
            refused.extend(self.retry(upsert).await?);
        }
        Ok(refused)
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
            backoff = backoff.saturating_mul(2);
        }
    }
}

/// The request identifier of a chunk: the UUID of the import with the number of the chunk in its last 48 bits.
fn request_identifier(import: Uuid, chunk: u64) -> RequestIdentifier {
    let mask = 0xffff_ffff_ffff;
    let uuid = Uuid::from_u128((import.as_u128() & !mask) | (u128::from(chunk) & mask));
    UuidText::parse(uuid.to_string()).map_or_else(RequestIdentifier::random, RequestIdentifier::from)
}

/// Parses each line that is not empty; collects the errors of those that are invalid.
fn parse_lines<'a, T>(
    lines: &'a [Line],
    errors: &mut IndexedErrors,
    parse: impl Fn(JsonText<'a>, usize) -> Result<T, Vec<FieldError>>,
) -> Vec<T> {
    let mut parsed = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let outcome = match line {
            Line::Text(text) => match text.trim_start_matches('\u{feff}').trim() {
                "" => continue,
                text => JsonText::parse(text).map_err(|error| {
                    let message = format!("The line is not JSON: {} at column {}.", error.reason, error.column);
                    LineError::Syntax { code: "malformed-json", message }
                }),
            },
            Line::NotUtf8 => {
                Err(LineError::Syntax { code: "malformed-json", message: "The line is not UTF-8.".to_owned() })
            }
            Line::TooLong => {
                let message = "The line is longer than a request may be.".to_owned();
                Err(LineError::Syntax { code: "too-large", message })
            }
        };
        let outcome = outcome.map_err(|error| vec![error]).and_then(|text| {
            parse(text, index).map_err(|errors| errors.into_iter().map(LineError::Validation).collect())
        });
        match outcome {
            Ok(value) => parsed.push(value),
            Err(found) => errors.push((index, found)),
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
