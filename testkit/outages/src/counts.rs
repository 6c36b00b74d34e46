//! What is counted of a build's requests.

use std::time::{Duration, Instant};

use crate::conditions::TimeWindow;
use crate::traffic::{RequestOutcome, SentRequest};

/// What was measured of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildCounts {
    /// Requests that were under way during a fault.
    pub(crate) requests_during_fault: usize,
    /// Those of them that were deferred.
    pub(crate) deferred: usize,
    /// Deferred requests that were under way only after a fault.
    pub(crate) deferred_after: usize,
    /// Requests that got a 503.
    pub(crate) unavailable: usize,
    /// Requests without a response, or with any other one.
    pub(crate) failed: usize,
    /// Acknowledged requests that are not stored after the drain.
    pub(crate) lost: usize,
    /// Environments that were busy at once, at most, since the first fault.
    pub(crate) environments: usize,
    /// Processes that ended by themselves.
    pub(crate) ended: u64,
    /// Calls to DynamoDB that the condition made slow or made fail.
    pub(crate) faulted_calls: u64,
    /// The longest time that a request was sent after its planned time.
    pub(crate) longest_delay: Duration,
}

impl BuildCounts {
    /// Counts these requests, of a run with faults in these windows. What only the build's stack
    /// knows is zero.
    pub(crate) fn count(requests: &[SentRequest], windows: &[TimeWindow]) -> Self {
        let counted: Vec<_> = requests
            .iter()
            .filter(|request| request.customer_id.is_some())
            .collect();
        let is_during = |request: &SentRequest| {
            windows
                .iter()
                .any(|window| window.overlaps(request.began, request.ended))
        };
        let with_outcome = |outcome| {
            let requests = counted.iter();
            requests
                .filter(|request| request.outcome == outcome)
                .count()
        };
        let during_fault: Vec<_> = counted
            .iter()
            .filter(|request| is_during(request))
            .collect();
        let deferred = during_fault
            .iter()
            .filter(|request| request.outcome == RequestOutcome::Deferred)
            .count();
        let times: Vec<_> = requests.iter().map(BusyTime::new).collect();
        let first_fault = windows.first().map(|window| window.begin);
        Self {
            requests_during_fault: during_fault.len(),
            deferred,
            deferred_after: with_outcome(RequestOutcome::Deferred) - deferred,
            unavailable: with_outcome(RequestOutcome::Unavailable),
            failed: with_outcome(RequestOutcome::Failed),
            lost: 0,
            environments: most_at_once(&times, first_fault),
            ended: 0,
            faulted_calls: 0,
            longest_delay: Duration::ZERO,
        }
    }
}

/// When a request held an environment. An environment serves one request at a time, from the start
/// of its process on.
#[derive(Clone, Copy)]
struct BusyTime {
    began: Instant,
    ended: Instant,
}

impl BusyTime {
    fn new(request: &SentRequest) -> Self {
        Self {
            began: request.began,
            ended: request.ended,
        }
    }
}

/// How many of these times there were at once, at most, since `from`.
fn most_at_once(times: &[BusyTime], from: Option<Instant>) -> usize {
    let mut begins = Vec::new();
    let mut ends = Vec::new();
    for time in times {
        if from.is_none_or(|from| time.ended > from) {
            begins.push(from.map_or(time.began, |from| from.max(time.began)));
            ends.push(time.ended);
        }
    }
    begins.sort_unstable();
    ends.sort_unstable();
    let mut most = 0;
    for (number, begin) in (1_usize..).zip(&begins) {
        // At the same moment, what ends comes before what begins.
        let ended = ends.partition_point(|end| end <= begin);
        most = most.max(number.saturating_sub(ended));
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: Instant, millis: [u64; 2], outcome: RequestOutcome) -> SentRequest {
        let [began, ended] = millis.map(|millis| at + Duration::from_millis(millis));
        SentRequest {
            customer_id: Some("c".to_owned()),
            items: 1,
            began,
            ended,
            outcome,
        }
    }

    #[test]
    fn environments_are_counted_from_the_first_fault_on() {
        let at = Instant::now();
        let [a, b, c] = [0, 10, 20].map(|millis| at + Duration::from_millis(millis));
        let busy = |began, ended| BusyTime { began, ended };
        let four = [busy(a, b), busy(a, b), busy(a, b), busy(a, c)];
        assert_eq!(most_at_once(&four, None), 4);
        assert_eq!(most_at_once(&four, Some(b)), 1);
        assert_eq!(most_at_once(&[busy(a, b), busy(b, c)], None), 1);
        assert_eq!(most_at_once(&[], None), 0);
    }

    #[test]
    fn request_is_counted_when_a_part_of_it_is_during_a_fault() {
        let at = Instant::now();
        let window = TimeWindow {
            begin: at + Duration::from_millis(100),
            end: at + Duration::from_millis(200),
        };
        let hot = SentRequest {
            customer_id: None,
            ..request(at, [100, 200], RequestOutcome::Unavailable)
        };
        let requests = [
            request(at, [0, 50], RequestOutcome::Stored),
            request(at, [50, 150], RequestOutcome::Deferred),
            request(at, [190, 250], RequestOutcome::Stored),
            request(at, [210, 250], RequestOutcome::Deferred),
            request(at, [120, 130], RequestOutcome::Failed),
            hot,
        ];
        let counted = BuildCounts::count(&requests, &[window]);
        assert_eq!(
            [
                counted.requests_during_fault,
                counted.deferred,
                counted.deferred_after
            ],
            [3, 1, 1]
        );
        assert_eq!([counted.unavailable, counted.failed], [0, 1]);
        assert_eq!(counted.environments, 3);
    }
}
