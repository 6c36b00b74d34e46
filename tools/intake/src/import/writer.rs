//! Stores a chunk as the functions would store its lines.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::CustomerUpdate;
use model::identifier::RequestIdentifier;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::customers::CustomersTable;
use store::error::StoreError;
use store::signals::SignalsTable;

use super::chunks::{Chunk, Kind};
use super::line::{ImportLine, parse_lines};
use super::outcome::{Outcome, Outcomes};
use crate::error::store_error;
use crate::stack::WRITE_TIMEOUT;

/// How many requests, or customers, are stored at once.
const CONCURRENCY: usize = 32;

/// Stores the chunks of one import, in one of the two tables.
pub(super) struct Writer<'a> {
    account: &'a AccountId,
    table: &'a str,
    signals: SignalsTable,
    customers: CustomersTable,
}

/// Lines with the time and the request identifier of one request.
struct Request<'a> {
    received_at: Timestamp,
    identifier: &'a RequestIdentifier,
    /// By what makes the key of a signal in its request: of lines with the same key, the last one
    /// counts.
    signals: BTreeMap<(String, usize), (u64, Signal<'a>)>,
}

/// The number of a line, and what became of it.
type LineOutcome = (u64, Outcome);

/// The number of a line, the time of the update, and the update.
type Update<'a> = (u64, Timestamp, CustomerUpdate<'a>);

impl<'a> Writer<'a> {
    pub(super) fn new(
        client: Client,
        table: &'a str,
        account: &'a AccountId,
        retention: Option<Duration>,
    ) -> Self {
        let signals = SignalsTable::new(client.clone(), table, retention);
        Self {
            account,
            table,
            signals,
            customers: CustomersTable::new(client, table),
        }
    }

    /// Stores the valid lines of a chunk; those without a time were received at this one. When it
    /// returns, DynamoDB has acknowledged them.
    pub(super) async fn store(
        &self,
        chunk: &Chunk,
        kind: Kind,
        received_at: Option<Timestamp>,
        outcomes: &mut Outcomes,
    ) -> Result<()> {
        let reject = |number, error| outcomes.add(number, Outcome::Rejected(vec![error]));
        let lines = parse_lines(chunk, kind, received_at, reject)?;
        let stored = match kind {
            Kind::Signals => self.store_signals(chunk, &lines, outcomes).await?,
            Kind::Customers => self.store_customers(&lines, outcomes).await?,
        };
        for (number, outcome) in stored {
            outcomes.add(number, outcome);
        }
        Ok(())
    }

    async fn store_signals(
        &self,
        chunk: &Chunk,
        lines: &[(u64, Timestamp, ImportLine<'_>)],
        outcomes: &mut Outcomes,
    ) -> Result<Vec<LineOutcome>> {
        let now = Timestamp::now();
        let mut requests: BTreeMap<(Timestamp, &str), Request<'_>> = BTreeMap::new();
        for &(number, received_at, ref line) in lines {
            if self
                .signals
                .expires_at(received_at)
                .is_some_and(|end| end <= now)
            {
                outcomes.add(number, Outcome::Expired);
                continue;
            }
            let index_in_chunk = usize::try_from(number - chunk.first)?;
            let (identifier, index) = match &line.origin {
                Some((identifier, index)) => (identifier, *index),
                None => (&chunk.identifier, index_in_chunk),
            };
            match Signal::parse(line.json().value(), index, &JsonPointer::Root) {
                Ok(signal) => {
                    let names = signal
                        .unknown_fields()
                        .into_iter()
                        .flatten()
                        .filter_map(|(name, _)| name.decode().ok());
                    names.for_each(|name| outcomes.add_unknown_field(&name));
                    let new = || Request {
                        received_at,
                        identifier,
                        signals: BTreeMap::new(),
                    };
                    let request = requests
                        .entry((received_at, identifier.as_sent()))
                        .or_insert_with(new);
                    let key = (signal.subject_id().to_owned(), index);
                    if let Some((replaced, _)) = request.signals.insert(key, (number, signal)) {
                        outcomes.add(replaced, Outcome::Stored);
                    }
                }
                Err(rejected) => outcomes.add(number, Outcome::invalid(rejected.errors)),
            }
        }
        let work: Vec<_> = requests
            .into_values()
            .map(|request| self.store_request(request))
            .collect();
        stream::iter(work)
            .buffer_unordered(CONCURRENCY)
            .try_concat()
            .await
    }

    async fn store_request(&self, request: Request<'_>) -> Result<Vec<LineOutcome>> {
        let (lines, signals): (Vec<_>, Vec<_>) = request.signals.into_values().unzip();
        let context = BatchContext {
            account_id: self.account,
            key_id: "",
            request_identifier: request.identifier,
            received_at: request.received_at,
            request_id: "",
        };
        let stored = self
            .signals
            .store(context, &signals, Deadline::after(WRITE_TIMEOUT))
            .await;
        let mut outcomes = Vec::with_capacity(lines.len());
        for (line, stored) in lines.into_iter().zip(stored) {
            let outcome = match stored {
                ItemOutcome::Stored => Outcome::Stored,
                ItemOutcome::Invalid => Outcome::refused(),
                ItemOutcome::Unacknowledged(error) => return Err(store_error(self.table, &error)),
            };
            outcomes.push((line, outcome));
        }
        Ok(outcomes)
    }

    async fn store_customers(
        &self,
        lines: &[(u64, Timestamp, ImportLine<'_>)],
        outcomes: &mut Outcomes,
    ) -> Result<Vec<LineOutcome>> {
        // Customers at once, the updates of one customer in the order of the lines.
        let mut customers: BTreeMap<String, Vec<Update<'_>>> = BTreeMap::new();
        for &(number, updated_at, ref line) in lines {
            let updates = match line
                .requests()
                .map(CustomerUpdate::parse)
                .collect::<Result<Vec<_>, _>>()
            {
                Ok(updates) => updates,
                Err(errors) => {
                    outcomes.add(number, Outcome::invalid(errors));
                    continue;
                }
            };
            for update in updates {
                // One warning has no field: it says that there are more than it lists.
                let names = update
                    .warnings()
                    .iter()
                    .map(|warning| &warning.at.field)
                    .filter(|name| !name.is_empty());
                names.for_each(|name| outcomes.add_unknown_field(name));
                customers
                    .entry(update.customer_id().to_owned())
                    .or_default()
                    .push((number, updated_at, update));
            }
        }
        let work: Vec<_> = customers
            .values()
            .map(|updates| self.update_customer(updates))
            .collect();
        stream::iter(work)
            .buffer_unordered(CONCURRENCY)
            .try_concat()
            .await
    }

    async fn update_customer(&self, updates: &[Update<'_>]) -> Result<Vec<LineOutcome>> {
        let mut outcomes = BTreeMap::new();
        for (number, updated_at, update) in updates {
            let deadline = Deadline::after(WRITE_TIMEOUT);
            let outcome = match self
                .customers
                .upsert_unless_newer(self.account, update, *updated_at, deadline)
                .await
            {
                Ok(true) => Outcome::Stored,
                Ok(false) => Outcome::Skipped,
                Err(StoreError::Invalid | StoreError::ItemTooLarge) => Outcome::refused(),
                Err(error) => return Err(store_error(self.table, &error)),
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
