//! The table of the waiting rule's choices, which `.ci/choices` prints: what a choice costs under the
//! conditions that decide it. A row is of the constants that this program was compiled with.

use std::fmt::Write as _;

use super::RequestKind;
use super::conditions::{A_TENTH_HANGS, Condition, USUAL_TAIL};
use super::markdown_table::percent;
use super::measurement::Measurement;

/// How long a condition lasts, in seconds.
const SECONDS: u64 = 6;

/// What is sent, and the name of a row of the table of outages: a column each.
const COLUMNS: [(RequestKind, &str); 8] = [
    (RequestKind::Batches, USUAL_TAIL),
    (RequestKind::Batches, "takes 200 to 900 ms"),
    (RequestKind::Batches, "takes 600 to 1,500 ms"),
    (RequestKind::Batches, A_TENTH_HANGS),
    (RequestKind::Batches, "throttles 90 %"),
    (RequestKind::Batches, "outage: hangs"),
    (RequestKind::LargeBatches, A_TENTH_HANGS),
    (RequestKind::LargeBatches, "takes 200 to 900 ms"),
];

/// The table with one row, which has this name.
pub fn table(name: &str) -> String {
    let mut names = "| choice |".to_owned();
    let mut line = "|---|".to_owned();
    let mut row = format!("| {name} |");
    for (kind, condition) in COLUMNS {
        let rate = rate(kind);
        let _ = write!(names, " {rate} {}/s: {condition} |", kind.name());
        line += "---|";
        let _ = write!(row, " {} |", cell(kind, rate, condition));
    }
    format!("{names}\n{line}\n{row}")
}

/// Requests a second.
fn rate(kind: RequestKind) -> u64 {
    match kind {
        RequestKind::Updates | RequestKind::Batches => 100,
        RequestKind::LargeBatches => 5,
    }
}

/// The share that was deferred, the environments, and the calls to DynamoDB for each request.
fn cell(kind: RequestKind, rate: u64, name: &str) -> String {
    let conditions = Condition::all(kind);
    let mut conditions = conditions.iter();
    let condition = conditions.find(|condition| condition.name == name);
    let condition = condition.expect("the table of outages has this row");
    let measured = Measurement::take(kind, rate, SECONDS, condition);
    let Measurement {
        during_fault,
        deferred,
        refused,
        lost,
        environments,
        calls,
    } = measured;
    let share = percent(deferred, during_fault);
    let requests = rate * SECONDS;
    // Adding the half rounds to the nearest tenth.
    let tenths = (calls * 10 + requests / 2) / requests;
    let mut cell = format!("{share}, {environments}, {}.{}", tenths / 10, tenths % 10);
    if refused + lost > 0 {
        let _ = write!(cell, ", {refused} REFUSED, {lost} LOST");
    }
    cell
}
