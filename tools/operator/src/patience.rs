//! How long a command waits for AWS: minutes, where a function waits for a second. Must not know what is
//! called.

use std::time::{Duration, Instant};

use aws::cause::{CallFailure, Cause};
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::{NOTE_INTERVAL, Note};

/// How long a call is made again while AWS throttles it or fails. The SDK's own retries end after some
/// seconds: all calls of a client share them.
pub const PATIENCE: Duration = Duration::from_mins(10);

/// The bound of the first wait, which is random below it. Each further bound is twice as high.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The highest bound of a wait: longer ones would leave capacity of a table unused.
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// The waits of one call.
pub struct Waits {
    what: String,
    note: Note,
    patience: Duration,
    began: Instant,
    noted_at: Instant,
    pause: Duration,
}

impl Waits {
    /// For a call that is told to the operator as `what`.
    pub fn new(what: impl Into<String>, note: Note, patience: Duration) -> Self {
        let now = Instant::now();
        Self {
            what: what.into(),
            note,
            patience,
            began: now,
            noted_at: now,
            pause: FIRST_PAUSE,
        }
    }

    /// Waits after a call that failed, and tells the operator every few seconds. Returns `false` if the
    /// same call would fail again, or the patience is over.
    pub async fn wait<E: ProvideErrorMetadata>(
        &mut self,
        error: &SdkError<E, HttpResponse>,
    ) -> bool {
        let Some(reason) = reason_to_wait(error) else {
            return false;
        };
        if self.began.elapsed() >= self.patience {
            return false;
        }
        if self.noted_at.elapsed() >= NOTE_INTERVAL {
            self.noted_at = Instant::now();
            let left = self.patience.saturating_sub(self.began.elapsed()).as_secs();
            (self.note)(&format!(
                "{}: {reason}. Waiting, for {left} s at most; Ctrl-C ends the command.",
                self.what
            ));
        }
        tokio::time::sleep(self.pause.mul_f64(fastrand::f64())).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        true
    }
}

/// Why the same call may succeed in minutes, for the operator.
fn reason_to_wait<E: ProvideErrorMetadata>(
    error: &SdkError<E, HttpResponse>,
) -> Option<&'static str> {
    let cause = match CallFailure::from(error) {
        CallFailure::Refused(refusal) => refusal.cause(),
        CallFailure::Unanswered(cause) => cause,
        CallFailure::NotSent => return None,
    };
    match cause {
        Cause::Throttled => Some("AWS throttles the calls"),
        Cause::ServerError => Some("AWS fails"),
        Cause::Timeout => Some("AWS does not answer"),
        _ => None,
    }
}
