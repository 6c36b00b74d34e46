//! The faults of single calls, beside the windows in which many fail.

use std::time::Duration;

use emulator::fault_proxy::{Fault, Rule};

/// The share of the calls to DynamoDB that are faulted.
const FAULTS: f64 = 0.1;

/// The faults of DynamoDB that a retry overcomes. Refused credentials are not among them: they end
/// a process.
pub(super) fn dynamodb_faults() -> Vec<Rule> {
    vec![
        part_of_faults(Fault::Throttled, 0.2),
        part_of_faults(Fault::TableThrottled, 0.08),
        part_of_faults(Fault::InternalServerError, 0.15),
        part_of_faults(Fault::Status(503), 0.08),
        part_of_faults(Fault::ResetBefore, 0.12),
        part_of_faults(Fault::ResetAfter, 0.17),
        part_of_faults(Fault::CutBody, 0.06),
        part_of_faults(Fault::Slow(Duration::from_millis(40)), 0.05),
        part_of_faults(Fault::Hanging, 0.002),
        part_of_faults(Fault::Late(Duration::from_millis(10)), 0.002),
        part_of_faults(Fault::Late(Duration::from_secs(3)), 0.002),
        part_of_faults(Fault::Unprocessed { done: 0 }, 0.04),
        part_of_faults(Fault::Unprocessed { done: 1 }, 0.04),
        part_of_faults(Fault::Unprocessed { done: 12 }, 0.06),
    ]
}

/// The faults of SQS: so rare that no message fails three times in a row.
pub(super) fn sqs_faults() -> Vec<Rule> {
    vec![
        part_of_faults(Fault::Status(503), 0.04),
        part_of_faults(Fault::ResetAfter, 0.04),
        part_of_faults(Fault::CutBody, 0.02),
    ]
}

/// A fault that is this part of all faults.
fn part_of_faults(fault: Fault, part: f64) -> Rule {
    fault.in_share(FAULTS * part)
}
