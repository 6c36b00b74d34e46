//! The time of a request, and the part of it that each step may take (docs/internals/design.md, Calls to
//! AWS).
//!
//! The parts follow one another: the key look-up, the writes, the overflow queue, the late record, the
//! response. The durations of these parts are here. [`MAX_REQUEST_DURATION`] is not, because the operator's
//! commands share it. The waits of the key look-up for the table and for the snapshot are in `auth`, the
//! durations of a single call in [`store::retry`] and in the crate `aws`.

use std::time::Duration;

use aws::deadline::Deadline;
use lambda_http::Context;
use model::timestamp::Timestamp;
use store::retry::MAX_REQUEST_DURATION;

/// How long the look-up of a key may take: longer than throttling that ends without an operator.
const KEY_LOOKUP_BUDGET: Duration = Duration::from_secs(5);

/// How long the writes of a request may take together: the idempotency record, the signals and the
/// rejected signals, or the update of a customer. What DynamoDB has not acknowledged by then goes to
/// the overflow queue. docs/outages.md has what was measured with it.
pub const WRITE_BUDGET: Duration = Duration::from_millis(1_250);

/// What the writes leave to the overflow queue when a request has little time.
const QUEUE_RESERVE: Duration = Duration::from_millis(2_500);

/// How long the write of an idempotency record may take after signals could not be stored.
const LATE_RECORD_BUDGET: Duration = Duration::from_millis(500);

/// What an invocation leaves to its response.
const RESPONSE_RESERVE: Duration = Duration::from_secs(1);

/// The time of a request. It is made when the request arrives.
#[derive(Clone, Copy, Debug)]
pub struct RequestBudget {
    /// When the last part must have ended.
    end: Deadline,
}

impl RequestBudget {
    /// The budget of a request that was received at `received_at`, which is now, with this invocation.
    pub(crate) fn of_invocation(lambda: &Context, received_at: Timestamp) -> Self {
        Self {
            end: invocation_deadline(lambda, received_at, MAX_REQUEST_DURATION),
        }
    }

    /// The budget of a request that has this long from now on.
    pub fn of(duration: Duration) -> Self {
        Self {
            end: Deadline::after(duration),
        }
    }

    /// The budget of the other parts of a request that may write a late record: without the time of that
    /// record.
    #[must_use]
    pub fn before_late_record(self) -> Self {
        Self {
            end: self.end.minus(LATE_RECORD_BUDGET),
        }
    }

    /// When a look-up of the key that begins now must have ended.
    pub fn key_lookup(self) -> Deadline {
        self.end.at_most(KEY_LOOKUP_BUDGET)
    }

    /// When the writes, which begin now, must have ended.
    pub fn writes(self) -> Deadline {
        self.end.minus(QUEUE_RESERVE).at_most(WRITE_BUDGET)
    }

    /// When the overflow queue must have acknowledged what was not stored.
    pub fn queue(self) -> Deadline {
        self.end
    }

    /// When the write of a late record that begins now must have ended.
    pub fn late_record(self) -> Deadline {
        self.end.at_most(LATE_RECORD_BUDGET)
    }
}

/// When the last call of an invocation that began at `now` must have ended: `longest` after that, or
/// earlier if Lambda ends the invocation before.
pub fn invocation_deadline(lambda: &Context, now: Timestamp, longest: Duration) -> Deadline {
    Deadline::after(time_left(lambda.deadline, now, longest))
}

/// The time that the calls of an invocation have at `now`, at most `longest`. Lambda ends it at
/// `invocation_ends`, in milliseconds since 1970. An end in the past is ignored, because `cargo
/// lambda watch` sends one in 1970.
fn time_left(invocation_ends: u64, now: Timestamp, longest: Duration) -> Duration {
    let left = Timestamp::from_millis(invocation_ends).duration_since(now);
    if left.is_zero() {
        longest
    } else {
        left.saturating_sub(RESPONSE_RESERVE).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_keeps_a_reserve_and_ignores_one_in_the_past() {
        let now = Timestamp::from_millis(1_000_000);
        let in_seconds = |seconds| now.plus(Duration::from_secs(seconds));
        let left = |invocation_ends: Timestamp| {
            time_left(invocation_ends.millis(), now, MAX_REQUEST_DURATION)
        };
        assert_eq!(left(in_seconds(5)), Duration::from_secs(4));
        assert_eq!(left(in_seconds(60)), MAX_REQUEST_DURATION);
        assert_eq!(left(in_seconds(1)), Duration::ZERO);
        assert_eq!(left(Timestamp::from_millis(0)), MAX_REQUEST_DURATION);
    }
}
