//! Stores customers: several customers at once, and the updates of one customer in
//! the order of their lines.

use std::collections::BTreeMap;

use anyhow::Result;
use aws::deadline::Deadline;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::CustomerUpdate;
use model::timestamp::Timestamp;
use model::validation::{FieldError, WarningCode};
use store::customers::{CustomersTable, NewerField, StoredPart, Upsert};
use store::error::StoreError;
use store::fence::UpdateMark;

use super::super::line::ParsedLine;
use super::super::line_error::LineError;
use super::super::report::{ImportReport, LineOutcome};
use super::{CONCURRENCY, FinishedLine, ImportMode};
use crate::error::write_error;
use crate::import::last_changes::LastChanges;
use crate::import::{ImportFile, ImportKind};
use crate::{Tables, WRITE_TIMEOUT};

struct NumberedUpdate<'a> {
    line: u64,
    updated_at: Timestamp,
    update: CustomerUpdate<'a>,
    /// Whether a later line of the file, with the same time, changes a field of the update. It has no
    /// longer these changes.
    is_superseded: bool,
}

/// Stores customers of one account.
pub(in crate::import) struct CustomersWriter<'a> {
    account: &'a AccountId,
    table_name: &'a str,
    mode: ImportMode,
    table: CustomersTable,
    last_changes: LastChanges,
}

impl<'a> CustomersWriter<'a> {
    /// # Errors
    /// The file cannot be read, or a line has no time.
    pub(super) fn new(tables: &'a Tables, file: &'a ImportFile) -> Result<Self> {
        let mut last_changes = LastChanges::default();
        file.look_ahead(ImportKind::Customers, |lines| {
            for line in lines {
                for update in parse_updates(line).into_iter().flatten() {
                    last_changes.add(line.number, line.time, &update);
                }
            }
        })?;
        let table_name = tables.customers.as_str();
        Ok(Self {
            account: &file.account,
            table_name,
            mode: file.mode,
            table: CustomersTable::new(tables.dynamodb.clone(), table_name),
            last_changes,
        })
    }

    pub(super) async fn store(
        &self,
        lines: &[ParsedLine<'_>],
        report: &mut ImportReport,
    ) -> Result<Vec<FinishedLine>> {
        let customers = self.group_by_customer(lines, report);
        let work: Vec<_> = customers
            .values()
            .map(|updates| self.update_customer(updates))
            .collect();
        stream::iter(work)
            .buffer_unordered(CONCURRENCY)
            .try_concat()
            .await
    }

    /// The updates of each customer, by `customerId`. Invalid lines go to the report.
    fn group_by_customer<'l>(
        &self,
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
            for mut update in updates {
                report_unknown_fields(&update, report);
                let is_superseded =
                    self.last_changes
                        .drop_superseded(line.number, line.time, &mut update);
                let updates = customers
                    .entry(update.customer_id().to_owned())
                    .or_default();
                updates.push(NumberedUpdate {
                    line: line.number,
                    updated_at: line.time,
                    update,
                    is_superseded,
                });
            }
        }
        customers
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
            Err(StoreError::Invalid | StoreError::CallTooLarge) => {
                Ok(self.refused(numbered, LineError::refused()))
            }
            Err(StoreError::ItemTooLarge) => {
                Ok(self.refused(numbered, LineError::customer_too_large()))
            }
            Err(error) => Err(write_error(self.table_name, &error)),
        }
    }

    /// The outcome of a line that DynamoDB refused.
    fn refused(&self, numbered: &NumberedUpdate<'_>, error: LineError) -> LineOutcome {
        let mut errors = vec![error];
        let NumberedUpdate {
            line,
            updated_at,
            update,
            ..
        } = numbered;
        if self.last_changes.is_later_line(*line, *updated_at, update) {
            errors.push(LineError::earlier_lines_left_out());
        }
        LineOutcome::Invalid(errors)
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
        if warning.code == WarningCode::UndocumentedMember && !name.is_empty() {
            report.add_unknown_field(name);
        }
    }
}
