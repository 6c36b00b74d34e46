//! Stores the customers of a chunk: several customers at once, and the updates of one customer in
//! the order of their lines.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use aws::deadline::Deadline;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::CustomerUpdate;
use model::timestamp::Timestamp;
use model::validation::FieldError;
use store::customers::{CustomersTable, NewerField, StoredPart, Upsert};
use store::error::StoreError;
use store::fence::UpdateMark;

use super::super::line::ParsedLine;
use super::super::report::{ImportReport, LineOutcome};
use super::{CONCURRENCY, FinishedLine, ImportMode};
use crate::error::store_error;
use crate::import::ImportFile;
use crate::{Tables, WRITE_TIMEOUT};

struct NumberedUpdate<'a> {
    line: u64,
    updated_at: Timestamp,
    update: CustomerUpdate<'a>,
    /// Whether later lines of the chunk, with the same time, change a field of the update. It has no
    /// longer these changes.
    is_superseded: bool,
}

/// Stores customers of one account.
pub(in crate::import) struct CustomersWriter<'a> {
    account: &'a AccountId,
    table_name: &'a str,
    mode: ImportMode,
    table: CustomersTable,
}

impl<'a> CustomersWriter<'a> {
    pub(super) fn new(tables: &'a Tables, file: &'a ImportFile) -> Self {
        let table_name = tables.customers.as_str();
        Self {
            account: &file.account,
            table_name,
            mode: file.mode,
            table: CustomersTable::new(tables.dynamodb.clone(), table_name),
        }
    }

    pub(super) async fn store(
        &self,
        lines: &[ParsedLine<'_>],
        report: &mut ImportReport,
    ) -> Result<Vec<FinishedLine>> {
        let customers = group_by_customer(lines, report);
        let work: Vec<_> = customers
            .values()
            .map(|updates| self.update_customer(updates))
            .collect();
        stream::iter(work)
            .buffer_unordered(CONCURRENCY)
            .try_concat()
            .await
    }

    async fn update_customer(&self, updates: &[NumberedUpdate<'_>]) -> Result<Vec<FinishedLine>> {
        let mut outcomes = BTreeMap::new();
        for numbered in updates {
            let outcome = self.store_rest(numbered).await?;
            let of_line = match outcomes.remove(&numbered.line) {
                Some(earlier) => LineOutcome::of_both(earlier, outcome),
                None => outcome,
            };
            outcomes.insert(numbered.line, of_line);
        }
        let finished = outcomes
            .into_iter()
            .map(|(number, outcome)| FinishedLine { number, outcome });
        Ok(finished.collect())
    }

    /// Stores what later lines leave of an update.
    async fn store_rest(&self, numbered: &NumberedUpdate<'_>) -> Result<LineOutcome> {
        if !numbered.is_superseded {
            return self.store_update(numbered).await;
        }
        if numbered.update.changes().is_empty() {
            return Ok(LineOutcome::NothingNewer);
        }
        let of_rest = self.store_update(numbered).await?;
        Ok(LineOutcome::of_both(of_rest, LineOutcome::NothingNewer))
    }

    async fn store_update(&self, numbered: &NumberedUpdate<'_>) -> Result<LineOutcome> {
        let deadline = Deadline::after(WRITE_TIMEOUT);
        let upsert = Upsert {
            account_id: self.account,
            update: &numbered.update,
            mark: UpdateMark::new_imported(numbered.updated_at),
            newer_field: NewerField::Keep,
            now: Timestamp::now(),
        };
        let stored = match self.mode {
            ImportMode::Store => {
                let upserted = self.table.upsert(upsert, deadline).await;
                upserted.map(|upserted| upserted.part)
            }
            ImportMode::DryRun => self.table.preview(upsert, deadline).await,
        };
        match stored {
            Ok(StoredPart::Whole) => Ok(LineOutcome::Stored),
            Ok(StoredPart::Some) => Ok(LineOutcome::StoredInPart),
            Ok(StoredPart::AsWritten) => Ok(LineOutcome::AsWritten),
            Ok(StoredPart::Newer) => Ok(LineOutcome::NothingNewer),
            Err(StoreError::Invalid | StoreError::ItemTooLarge) => Ok(LineOutcome::refused()),
            Err(error) => Err(store_error(self.table_name, &error)),
        }
    }
}

/// The updates of each customer, by `customerId`. Invalid lines go to the report.
fn group_by_customer<'l>(
    lines: &'l [ParsedLine<'_>],
    report: &mut ImportReport,
) -> BTreeMap<String, Vec<NumberedUpdate<'l>>> {
    let mut customers: BTreeMap<String, Vec<NumberedUpdate<'l>>> = BTreeMap::new();
    for line in lines {
        let updates = match parse_updates(line) {
            Ok(updates) => updates,
            Err(errors) => {
                report.add(line.number, LineOutcome::invalid(errors));
                continue;
            }
        };
        for update in updates {
            report_unknown_fields(&update, report);
            let updates = customers
                .entry(update.customer_id().to_owned())
                .or_default();
            updates.push(NumberedUpdate {
                line: line.number,
                updated_at: line.time,
                update,
                is_superseded: false,
            });
        }
    }
    for updates in customers.values_mut() {
        drop_superseded_changes(updates);
    }
    customers
}

/// Drops each change of a field that a later update with the same time also changes. Otherwise each
/// further run would store the earlier value for a moment, because the fences are equal.
fn drop_superseded_changes(updates: &mut [NumberedUpdate<'_>]) {
    let mut changed_later: BTreeMap<Timestamp, BTreeSet<String>> = BTreeMap::new();
    for numbered in updates.iter_mut().rev() {
        let names = changed_later.entry(numbered.updated_at).or_default();
        let changes = numbered.update.changes().len();
        numbered.update.retain_changes(|name| !names.contains(name));
        let kept = numbered.update.changes();
        numbered.is_superseded = kept.len() < changes;
        names.extend(kept.iter().map(|change| change.name.to_string()));
    }
}

fn parse_updates<'l>(line: &'l ParsedLine<'_>) -> Result<Vec<CustomerUpdate<'l>>, Vec<FieldError>> {
    let requests = line.content.requests().into_iter();
    requests.map(CustomerUpdate::parse).collect()
}

fn report_unknown_fields(update: &CustomerUpdate<'_>, report: &mut ImportReport) {
    for warning in update.warnings() {
        let name = &warning.at.field;
        // A warning without a field says that there are more than the list has.
        if !name.is_empty() {
            report.add_unknown_field(name);
        }
    }
}
