//! Stores a chunk as the functions would have stored its lines.

use std::time::Duration;

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::CustomerUpdate;
use model::deadline::Budget;
use model::fault::{Fault, FaultCode};
use model::place::Path;
use model::signal::Signal;
use model::timestamp::Timestamp;
use model::token::JsonText;
use store::StoreError;
use store::customers::Customers;
use store::signals::{Origin, Signals};

use super::Kind;
use super::checkpoint::{Checkpoint, Requests};
use super::chunks::{Chunk, Line, Position};
use super::error_file::{LineError, LineErrors};
use crate::error::{is_transient, store_error};
use crate::stack::{Stack, Table, WRITE_TIMEOUT};

/// How often something is tried again. A table that has just been created takes a while to grow.
const TRIES: u32 = 5;

/// What is waited before the next try; doubled each time.
const BACKOFF_BASE: Duration = Duration::from_secs(1);

/// Customers that are updated at once.
const CUSTOMERS_AT_ONCE: usize = 32;

/// Stores chunks of one import.
pub(super) struct Writer {
    account: AccountId,
    kind: Kind,
    received_at: Timestamp,
    requests: Requests,
    table: String,
    signals: Signals,
    customers: Customers,
}

/// A chunk that is stored.
pub(super) struct Stored {
    pub(super) end: Position,
    pub(super) count: u64,
    pub(super) errors: Vec<LineErrors>,
}

impl Writer {
    /// The table that lines of this kind go to.
    pub(super) fn table(kind: Kind) -> Table {
        match kind {
            Kind::Customers => Table::Customers,
            Kind::Signals => Table::Signals,
        }
    }

    pub(super) fn new(stack: &Stack, account: AccountId, kind: Kind, checkpoint: &Checkpoint) -> Result<Self> {
        let table = stack.table(Self::table(kind))?.to_owned();
        // Customers have no time to live, so nobody has to know one.
        let retention = if kind == Kind::Signals { stack.retention()? } else { None };
        Ok(Self {
            account,
            kind,
            received_at: checkpoint.received_at()?,
            requests: checkpoint.requests()?,
            signals: Signals::new(stack.client.clone(), &table, retention),
            customers: Customers::new(stack.client.clone(), &table),
            table,
        })
    }

    pub(super) fn chunks_at_once(&self) -> usize {
        self.kind.chunks_at_once()
    }

    /// Stores what is valid of a chunk. When it returns, that is acknowledged.
    ///
    /// # Errors
    /// DynamoDB could not be had for all of it.
    pub(super) async fn store(&self, chunk: Chunk) -> Result<Stored> {
        let mut errors = Vec::new();
        let lines: Vec<(usize, JsonText<'_>)> = chunk
            .lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| match read(line)? {
                Ok(text) => Some((index, text)),
                Err(error) => {
                    errors.push((index, vec![error]));
                    None
                }
            })
            .collect();
        let stored = match self.kind {
            Kind::Signals => self.store_signals(chunk.begin.chunk, &lines, &mut errors).await?,
            Kind::Customers => self.store_customers(&lines, &mut errors).await?,
        };
        errors.sort_by_key(|(index, _)| *index);
        let number = |index: usize| chunk.begin.line.saturating_add(index as u64).saturating_add(1);
        let errors = errors.into_iter().map(|(index, errors)| LineErrors { line: number(index), errors }).collect();
        Ok(Stored { end: chunk.end, count: stored as u64, errors })
    }

    async fn store_signals(
        &self,
        chunk: u64,
        lines: &[(usize, JsonText<'_>)],
        errors: &mut Vec<(usize, Vec<LineError>)>,
    ) -> Result<usize> {
        let mut signals = Vec::with_capacity(lines.len());
        for (index, text) in lines {
            match Signal::parse(*text, *index, &Path::Root) {
                Ok(signal) => signals.push(signal),
                Err(rejected) => errors.push((*index, rules(rejected.faults))),
            }
        }
        let request_identifier = self.requests.of_chunk(chunk);
        let origin = Origin {
            account_id: &self.account,
            request_identifier: &request_identifier,
            received_at: self.received_at,
        };
        let mut tries = Tries::default();
        let refused = loop {
            match self.signals.put(origin, &signals, Budget::lasting(WRITE_TIMEOUT)).await {
                Ok(refused) => break refused,
                Err(error) => tries.wait(&self.table, &error).await?,
            }
        };
        errors.extend(refused.iter().map(|index| (*index, rules(vec![refused_by_store()]))));
        Ok(signals.len().saturating_sub(refused.len()))
    }

    /// Lines about one customer one after another, and customers side by side.
    async fn store_customers(
        &self,
        lines: &[(usize, JsonText<'_>)],
        errors: &mut Vec<(usize, Vec<LineError>)>,
    ) -> Result<usize> {
        let mut updates = Vec::with_capacity(lines.len());
        for (index, text) in lines {
            match CustomerUpdate::parse(*text) {
                Ok(update) => updates.push((*index, update)),
                Err(wrong) => errors.push((*index, rules(wrong))),
            }
        }
        updates.sort_by(|(a, one), (b, other)| (&one.customer_id, a).cmp(&(&other.customer_id, b)));
        let of_one = updates.chunk_by(|(_, one), (_, other)| one.customer_id == other.customer_id);
        let work: Vec<_> = of_one.map(|updates| self.update_one(updates)).collect();
        let refused: Vec<Vec<usize>> = stream::iter(work).buffer_unordered(CUSTOMERS_AT_ONCE).try_collect().await?;
        let refused = refused.concat();
        errors.extend(refused.iter().map(|index| (*index, rules(vec![refused_by_store()]))));
        Ok(updates.len().saturating_sub(refused.len()))
    }

    /// Makes the updates of one customer in order; the lines that the table refused.
    async fn update_one(&self, updates: &[(usize, CustomerUpdate<'_>)]) -> Result<Vec<usize>> {
        let mut refused = Vec::new();
        for (index, update) in updates {
            let mut tries = Tries::default();
            loop {
                let budget = Budget::lasting(WRITE_TIMEOUT);
                match self.customers.upsert(&self.account, update, self.received_at, budget).await {
                    Ok(_) => break,
                    Err(StoreError::Invalid | StoreError::ItemTooLarge) => {
                        refused.push(*index);
                        break;
                    }
                    Err(error) => tries.wait(&self.table, &error).await?,
                }
            }
        }
        Ok(refused)
    }
}

/// How often something was tried. DynamoDB may throttle or be disturbed for a while, and what is tried here is the same
/// when it is done twice.
#[derive(Default)]
struct Tries(u32);

impl Tries {
    /// Waits before the next try, if there may be one after `error`.
    async fn wait(&mut self, table: &str, error: &StoreError) -> Result<()> {
        if self.0 >= TRIES || !is_transient(error) {
            return Err(store_error(table, error));
        }
        tokio::time::sleep(BACKOFF_BASE.saturating_mul(2_u32.saturating_pow(self.0))).await;
        self.0 = self.0.saturating_add(1);
        Ok(())
    }
}

/// The JSON of a line; `None` when there is nothing on it.
fn read(line: &Line) -> Option<Result<JsonText<'_>, LineError>> {
    let text = match line {
        Line::Text(text) => text.trim_start_matches('\u{feff}').trim(),
        Line::NotUtf8 => {
            return Some(Err(LineError::Text { code: "malformed-json", message: "The line is not UTF-8.".to_owned() }));
        }
        Line::TooLong => {
            let message = "The line is longer than any request may be.".to_owned();
            return Some(Err(LineError::Text { code: "too-large", message }));
        }
    };
    if text.is_empty() {
        return None;
    }
    Some(JsonText::parse(text).map_err(|error| LineError::Text {
        code: "malformed-json",
        message: format!("The line is not JSON: {} at column {}.", error.reason, error.column),
    }))
}

fn rules(errors: Vec<Fault>) -> Vec<LineError> {
    errors.into_iter().map(LineError::Rule).collect()
}

fn refused_by_store() -> Fault {
    Fault::new(&Path::Root, FaultCode::RefusedByStore, "was refused by the database")
}
