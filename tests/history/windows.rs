//! Windows of time in which something fails for all environments at once, as it does on AWS.

use std::time::{Duration, Instant};

use consistency::generated::CANARY;
use emulator::fault_proxy::{Fault, Rule};
use testkit::table_name;

use crate::clients::UnavailableResponse;

/// Later than any run ends.
const LONGEST_RUN: Duration = Duration::from_hours(2);

/// After a failed read of the key snapshot, with the start of a process before it.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// All windows of a run.
#[derive(Debug, Default)]
pub(super) struct FaultWindows(Vec<FaultWindow>);

#[derive(Clone, Copy, Debug)]
struct FaultWindow {
    begin: Instant,
    end: Instant,
    target: FaultTarget,
    fault: Fault,
    /// Whether SQS and S3 are unavailable too.
    includes_sqs_and_s3: bool,
}

/// What fails in DynamoDB.
#[derive(Clone, Copy, Debug)]
enum FaultTarget {
    /// Calls on the table with this logical id.
    Table(&'static str),
    /// Writes of the items whose keys begin like this, as those of a hot partition.
    Keys(&'static str),
    Everything,
}

/// Keys of one customer or emitter, and of more than a quarter of them.
const KEYS: [&str; 3] = ["#canary-7e1d-77", "#canary-7e1d-3", "#canary-7e1d-1"];

const FAULTS: [Fault; 6] = [
    Fault::Throttled,
    Fault::TableThrottled,
    Fault::InternalServerError,
    Fault::Status(503),
    Fault::ResetBefore,
    Fault::Hanging,
];

impl FaultWindows {
    /// Windows of 50 milliseconds to 12 seconds, one after another.
    pub(super) fn random(seed: u64, start: Instant) -> Self {
        debug_assert!(
            KEYS.iter().all(|keys| keys.contains(CANARY)),
            "keys are those that are sent"
        );
        let mut random = fastrand::Rng::with_seed(seed);
        let mut begin = start;
        let mut windows = Vec::new();
        while begin.saturating_duration_since(start) < LONGEST_RUN {
            begin += Duration::from_millis(random.u64(2_000..16_000));
            let millis = match random.u8(..10) {
                0..6 => random.u64(50..800),
                6..9 => random.u64(800..3_000),
                _ => random.u64(3_000..12_000),
            };
            let end = begin + Duration::from_millis(millis);
            let target = match random.u8(..8) {
                0 => FaultTarget::Table("SignalsTable"),
                1 => FaultTarget::Table("IdempotencyTable"),
                2 => FaultTarget::Table("CustomersTable"),
                3 => FaultTarget::Table("ApiKeysTable"),
                4..6 => FaultTarget::Keys(KEYS[random.usize(..KEYS.len())]),
                _ => FaultTarget::Everything,
            };
            let fault = FAULTS[random.usize(..FAULTS.len())];
            windows.push(FaultWindow {
                begin,
                end,
                target,
                fault,
                includes_sqs_and_s3: random.u8(..4) == 0,
            });
            begin = end;
        }
        Self(windows)
    }

    /// An outage of all tables that begins at `begin`.
    pub(super) fn outage(begin: Instant, end: Instant) -> Self {
        Self(vec![FaultWindow {
            begin,
            end,
            target: FaultTarget::Everything,
            fault: Fault::Status(503),
            includes_sqs_and_s3: false,
        }])
    }

    /// What fails in DynamoDB.
    pub(super) fn rules(&self) -> Vec<Rule> {
        self.0.iter().flat_map(FaultWindow::rules).collect()
    }

    /// What fails in SQS and S3.
    pub(super) fn rules_of_sqs_and_s3(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        for window in self.0.iter().filter(|window| window.includes_sqs_and_s3) {
            let rule = Fault::Status(503).always();
            rules.push(rule.between(window.begin, window.end));
        }
        rules
    }

    /// Whether SQS or S3 was unavailable while a request was served, or so shortly before that its process
    /// had not asked again.
    pub(super) fn explains(&self, failure: &UnavailableResponse) -> bool {
        let is_meanwhile = |window: &FaultWindow| {
            window.begin <= failure.received && failure.sent <= window.end + ASKED_AGAIN_AFTER
        };
        self.0
            .iter()
            .any(|window| window.includes_sqs_and_s3 && is_meanwhile(window))
    }
}

impl FaultWindow {
    fn rules(&self) -> Vec<Rule> {
        let mut rules = match self.target {
            FaultTarget::Table(table) => vec![self.fault.where_body_has(table_name(table))],
            // The first rule is about batches only, the second about all other writes.
            FaultTarget::Keys(keys) => vec![
                Fault::UnprocessedWhere(keys).where_body_has(keys),
                Fault::Throttled.where_body_has(keys),
            ],
            FaultTarget::Everything => vec![self.fault.always()],
        };
        // The table of the keys is unavailable, too.
        rules.push(self.fault.where_body_has(table_name("ApiKeysTable")));
        rules
            .into_iter()
            .map(|rule| rule.between(self.begin, self.end))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A window of the second second of a run that starts at `start`.
    fn windows(start: Instant, includes_sqs_and_s3: bool) -> FaultWindows {
        FaultWindows(vec![FaultWindow {
            begin: start + SECOND,
            end: start + SECOND * 2,
            target: FaultTarget::Everything,
            fault: Fault::Status(503),
            includes_sqs_and_s3,
        }])
    }

    #[test]
    fn unavailable_response_is_explained_by_a_window_of_sqs_and_s3_and_the_seconds_after_it() {
        let start = Instant::now();
        let explained = |sent: Duration, received: Duration| {
            windows(start, true).explains(&UnavailableResponse {
                sent: start + sent,
                received: start + received,
            })
        };
        let asked_again = SECOND * 2 + ASKED_AGAIN_AFTER;
        assert!(explained(Duration::ZERO, SECOND));
        assert!(explained(asked_again, asked_again + SECOND));
        assert!(!explained(Duration::ZERO, Duration::from_millis(999)));
        assert!(!explained(
            asked_again + Duration::from_millis(1),
            asked_again + SECOND
        ));
    }

    #[test]
    fn unavailable_response_is_not_explained_by_an_outage_of_dynamodb_alone() {
        let start = Instant::now();
        let during_window = UnavailableResponse {
            sent: start + SECOND,
            received: start + SECOND * 2,
        };
        assert!(!windows(start, false).explains(&during_window));
    }
}
