//! The table of the waiting rule's choices, which `.ci/choices` prints: what a choice costs under the
//! conditions that decide it. A row is of the constants that this program was compiled with.

use std::fmt::Write as _;

use super::RequestKind;
use super::conditions::{A_TENTH_HANGS, Condition, USUAL_TAIL};
use super::measurement::Measurement;
use super::table::percent;

/// How long a condition lasts, in seconds.
const SECONDS: u64 = 6;

const COLUMNS: [Column; 8] = [
    Column::of_batches(USUAL_TAIL),
    Column::of_batches("takes 200 to 900 ms"),
    Column::of_batches("takes 600 to 1,500 ms"),
    Column::of_batches(A_TENTH_HANGS),
    Column::of_batches("throttles 90 %"),
    Column::of_batches("outage: hangs"),
    Column::of_large_batches(A_TENTH_HANGS),
    Column::of_large_batches("takes 200 to 900 ms"),
];

/// Requests under a condition.
struct Column {
    kind: RequestKind,
    /// Requests a second.
    rate: u64,
    /// The name of a row of the table of outages.
    condition: &'static str,
}

/// The table with one row, which has this name.
pub fn table(name: &str) -> String {
    let mut names = "| choice |".to_owned();
    let mut line = "|---|".to_owned();
    let mut row = format!("| {name} |");
    for column in &COLUMNS {
        let _ = write!(names, " {} |", column.name());
        line += "---|";
        let _ = write!(row, " {} |", column.cell());
    }
    format!("{names}\n{line}\n{row}")
}

impl Column {
    const fn of_batches(condition: &'static str) -> Self {
        Self {
            kind: RequestKind::Batches,
            rate: 100,
            condition,
        }
    }

    const fn of_large_batches(condition: &'static str) -> Self {
        Self {
            kind: RequestKind::LargeBatches,
            rate: 5,
            condition,
        }
    }

    fn name(&self) -> String {
        let Self {
            kind,
            rate,
            condition,
        } = self;
        format!("{rate} {}/s: {condition}", kind.name())
    }

    /// The share that was deferred, the environments, and the calls to DynamoDB for each request.
    fn cell(&self) -> String {
        let conditions = Condition::all(self.kind);
        let mut conditions = conditions.iter();
        let condition = conditions.find(|condition| condition.name == self.condition);
        let condition = condition.expect("the table of outages has this row");
        let measured = Measurement::take(self.kind, self.rate, SECONDS, condition);
        let Measurement {
            during_fault,
            deferred,
            refused,
            lost,
            environments,
            calls,
        } = measured;
        let share = percent(deferred, during_fault);
        let requests = self.rate * SECONDS;
        // Adding the half rounds to the nearest tenth.
        let tenths = (calls * 10 + requests / 2) / requests;
        let mut cell = format!("{share}, {environments}, {}.{}", tenths / 10, tenths % 10);
        if refused + lost > 0 {
            let _ = write!(cell, ", {refused} REFUSED, {lost} LOST");
        }
        cell
    }
}
