//! Stores a chunk as the functions would store its lines. Must not know where the lines come from.

mod customers;
mod signals;

use std::time::Duration;

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use model::account::AccountId;
use model::timestamp::Timestamp;
use store::customers::CustomersTable;
use store::signals::SignalsTable;

use super::chunks::{Chunk, Kind};
use super::line::parse_lines;
use super::report::{ImportReport, LineOutcome};

/// How many requests, or customers, are stored at once.
const CONCURRENCY: usize = 32;

/// Stores the chunks of one import, in one of the two tables.
pub(super) struct Writer<'a> {
    account: &'a AccountId,
    /// The name of the table that this import writes to.
    table: &'a str,
    signals: SignalsTable,
    customers: CustomersTable,
}

/// A line that DynamoDB has answered for.
struct FinishedLine {
    number: u64,
    outcome: LineOutcome,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        client: Client,
        table: &'a str,
        account: &'a AccountId,
        retention: Option<Duration>,
    ) -> Self {
        let signals = SignalsTable::new(client.clone(), table, retention);
        let customers = CustomersTable::new(client, table);
        Self {
            account,
            table,
            signals,
            customers,
        }
    }

    /// Stores the valid lines of a chunk. A line without a time of its own was received at
    /// `received_at`. When it returns `Ok`, DynamoDB has acknowledged what the report counts as
    /// stored.
    pub(super) async fn store(
        &self,
        chunk: &Chunk,
        kind: Kind,
        received_at: Option<Timestamp>,
        report: &mut ImportReport,
    ) -> Result<()> {
        let lines = parse_lines(chunk, kind, received_at)?;
        for line in lines.rejected {
            report.add(line.number, LineOutcome::Rejected(vec![line.error]));
        }
        let finished = match kind {
            Kind::Signals => self.store_signals(chunk, &lines.valid, report).await?,
            Kind::Customers => self.store_customers(&lines.valid, report).await?,
        };
        for line in finished {
            report.add(line.number, line.outcome);
        }
        Ok(())
    }
}
