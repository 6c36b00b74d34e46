//! What is counted of a build's requests. Must not know how they were sent.

use std::time::{Duration, Instant};

use crate::conditions::Window;
use crate::traffic::{Outcome, Request};

/// What was measured of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfBuild {
    /// Requests that were under way during a fault.
    pub(crate) requests: usize,
    /// Those of them that were deferred.
    pub(crate) deferred: usize,
    /// Deferred requests that were under way only after a fault.
    pub(crate) deferred_after: usize,
    /// 503s.
    pub(crate) unavailable: usize,
    /// Requests without a response, or with any other one.
    pub(crate) failed: usize,
    /// Acknowledged requests that are not stored after the drain.
    pub(crate) lost: usize,
    /// Environments that were busy at once, at most, since the first fault.
    pub(crate) environments: usize,
    /// Processes that ended by themselves.
    pub(crate) ended: u64,
    /// How much later than it should have been the latest request was sent.
    pub(crate) latest: Duration,
}

impl OfBuild {
    /// Counts these requests, of a run with faults in these windows. What only the build's stack
    /// knows is zero.
    pub(crate) fn count(requests: &[Request], windows: &[Window]) -> Self {
        let counted: Vec<_> = requests
            .iter()
            .filter(|request| request.customer_id.is_some())
            .collect();
        let is_during = |request: &Request| {
            windows
                .iter()
                .any(|window| window.overlaps(request.began, request.ended))
        };
        let is_deferred = |request: &Request| request.outcome == Outcome::Deferred;
        let of = |outcome| {
            counted
                .iter()
                .filter(|request| request.outcome == outcome)
                .count()
        };
        let during = counted.iter().filter(|request| is_during(request));
        let deferred = during
            .clone()
            .filter(|request| is_deferred(request))
            .count();
        let times: Vec<_> = requests
            .iter()
            .map(|request| [request.began, request.ended])
            .collect();
        let from = windows.first().map(|window| window.begin);
        Self {
            requests: during.count(),
            deferred,
            deferred_after: of(Outcome::Deferred) - deferred,
            unavailable: of(Outcome::Unavailable),
            failed: of(Outcome::Failed),
            lost: 0,
            environments: most_at_once(&times, from),
            ended: 0,
            latest: Duration::ZERO,
        }
    }
}

/// How many of these times from begin to end there were at once, at most, since `from`. An
/// environment serves one request at a time, from the start of its process on.
fn most_at_once(times: &[[Instant; 2]], from: Option<Instant>) -> usize {
    let counted: Vec<_> = times
        .iter()
        .filter(|[_, ended]| from.is_none_or(|from| *ended > from))
        .collect();
    // At the same moment, what ends comes before what begins.
    let mut moments: Vec<_> = counted
        .iter()
        .flat_map(|[began, ended]| {
            let began = from.map_or(*began, |from| from.max(*began));
            [(began, true), (*ended, false)]
        })
        .collect();
    moments.sort_unstable();
    let (mut now, mut most) = (0_usize, 0);
    for (_, is_begin) in moments {
        now = if is_begin {
            now + 1
        } else {
            now.saturating_sub(1)
        };
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: Instant, millis: [u64; 2], outcome: Outcome) -> Request {
        let [began, ended] = millis.map(|millis| at + Duration::from_millis(millis));
        Request {
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
        assert_eq!(most_at_once(&[[a, b], [a, b], [a, b], [a, c]], None), 4);
        assert_eq!(most_at_once(&[[a, b], [a, b], [a, b], [a, c]], Some(b)), 1);
        assert_eq!(most_at_once(&[[a, b], [b, c]], None), 1);
        assert_eq!(most_at_once(&[], None), 0);
    }

    #[test]
    fn request_is_counted_when_a_part_of_it_is_during_a_fault() {
        let at = Instant::now();
        let window = Window {
            begin: at + Duration::from_millis(100),
            end: at + Duration::from_millis(200),
        };
        let hot = Request {
            customer_id: None,
            ..request(at, [100, 200], Outcome::Unavailable)
        };
        let requests = [
            request(at, [0, 50], Outcome::Stored),
            request(at, [50, 150], Outcome::Deferred),
            request(at, [190, 250], Outcome::Stored),
            request(at, [210, 250], Outcome::Deferred),
            request(at, [120, 130], Outcome::Failed),
            hot,
        ];
        let counted = OfBuild::count(&requests, &[window]);
        assert_eq!(
            [counted.requests, counted.deferred, counted.deferred_after],
            [3, 1, 1]
        );
        assert_eq!([counted.unavailable, counted.failed], [0, 1]);
        assert_eq!(counted.environments, 3);
    }
}
