//! Retries of reads: a command retries for minutes, where a function does for a second. Must not know what is
//! called.

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws::call_error::{CallError, SdkFailure};
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::error::credentials_error;
use crate::{NOTE_INTERVAL, Note};

/// How long a call is made again while AWS throttles it or fails. The SDK's own retries end after some
/// seconds: all calls of a client share them.
pub const RETRY_TIMEOUT: Duration = Duration::from_mins(10);

/// The bound of the first wait, which is random below it. Each further bound is twice as high.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The highest bound of a wait: longer ones would leave capacity of a table unused.
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// The code of CloudWatch Logs while as many queries run as it allows ("`StartQuery`", API reference).
const TOO_MANY_AT_ONCE: &str = "LimitExceededException";

/// When a wait was last told. Many calls wait at the same time, and one note is enough for all.
static NOTED_AT: Mutex<Option<Instant>> = Mutex::new(None);

/// Makes a call that changes nothing, again while AWS throttles it or fails, until `timeout` is over.
/// The call is told to the operator as `what`.
///
/// # Errors
/// The same call would fail again, or the timeout is over.
pub async fn retry_read<T, E, F>(
    what: &str,
    note: Note,
    timeout: Duration,
    call: impl Fn() -> F,
) -> Result<T, SdkError<E, HttpResponse>>
where
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    E: ProvideErrorMetadata + Error + 'static,
{
    let mut retries = ReadRetries::new(what, note, timeout);
    loop {
        let error = match call().await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let is_worth_another = retries.wait(&error).await;
        if !is_worth_another {
            return Err(error);
        }
    }
}

/// The retries of one call.
struct ReadRetries {
    what: String,
    note: Note,
    timeout: Duration,
    began: Instant,
    pause: Duration,
}

impl ReadRetries {
    /// For a call that is told to the operator as `what`.
    fn new(what: impl Into<String>, note: Note, timeout: Duration) -> Self {
        let now = Instant::now();
        Self {
            what: what.into(),
            note,
            timeout,
            began: now,
            pause: FIRST_PAUSE,
        }
    }

    /// Waits after a call that failed, and tells the operator every few seconds. Returns `false` if the
    /// same call would fail again, or the timeout is over.
    async fn wait<E>(&mut self, error: &SdkError<E, HttpResponse>) -> bool
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let has_waited = self.pause > FIRST_PAUSE;
        let Some(reason) = reason_to_wait(error, has_waited) else {
            return false;
        };
        if self.began.elapsed() >= self.timeout {
            return false;
        }
        if is_note_due(self.began) {
            let left = self.timeout.saturating_sub(self.began.elapsed()).as_secs();
            (self.note)(&format!(
                "{}: {reason}. Retrying for up to {left} s. Ctrl-C ends the command.",
                self.what
            ));
        }
        tokio::time::sleep(self.pause.mul_f64(fastrand::f64())).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        true
    }
}

/// Whether the operator has heard nothing for a while, since `began` or the last note of any wait.
fn is_note_due(began: Instant) -> bool {
    let mut noted_at = NOTED_AT.lock().unwrap_or_else(PoisonError::into_inner);
    let last = noted_at.map_or(began, |noted_at| noted_at.max(began));
    let is_due = last.elapsed() >= NOTE_INTERVAL;
    if is_due {
        *noted_at = Some(Instant::now());
    }
    is_due
}

/// Why the same call may succeed in minutes, for the operator.
///
/// A connection that breaks is one only after an earlier wait: the retries of the SDK are used up then. The
/// first one would rather be a wrong endpoint, which the operator is to hear at once. A provider that
/// gives no credentials is not asked again: it may be a person who signs in.
fn reason_to_wait<E>(error: &SdkError<E, HttpResponse>, has_waited: bool) -> Option<&'static str>
where
    E: ProvideErrorMetadata + Error + 'static,
{
    if credentials_error(error).is_some() {
        return None;
    }
    let cause = match SdkFailure::from(error) {
        SdkFailure::Refused(refusal) if refusal.code == Some(TOO_MANY_AT_ONCE) => {
            return Some("AWS already runs as many of these queries as it allows");
        }
        SdkFailure::Refused(refusal) => refusal.call_error(),
        SdkFailure::NoResponse(cause) => cause,
        SdkFailure::NotSent => return None,
    };
    match cause {
        CallError::Throttled => Some("AWS throttles the calls"),
        CallError::ServerError => Some("AWS fails"),
        CallError::Timeout => Some("AWS does not respond"),
        CallError::DispatchFailure | CallError::ResponseError => {
            (has_waited).then_some("AWS cannot be reached")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use aws_sdk_dynamodb::error::ConnectorError;
    use aws_sdk_dynamodb::operation::scan::ScanError;

    use super::*;

    fn failed(status: u16, code: &str) -> SdkError<ScanError, HttpResponse> {
        let metadata = aws_sdk_dynamodb::error::ErrorMetadata::builder()
            .code(code)
            .build();
        let response = HttpResponse::new(status.try_into().unwrap(), "".into());
        SdkError::service_error(ScanError::generic(metadata), response)
    }

    #[tokio::test]
    async fn call_is_made_again_while_aws_throttles_or_fails_and_not_when_it_refuses() {
        let calls = Cell::new(0);
        let response = retry_read(
            "S3",
            |_| {},
            RETRY_TIMEOUT,
            async || {
                calls.update(|calls| calls + 1);
                match calls.get() {
                    1 => Err(failed(400, "ThrottlingException")),
                    2 => Err(failed(503, "SlowDown")),
                    3 => Err(failed(400, "LimitExceededException")),
                    number => Ok(number),
                }
            },
        );
        assert_eq!(response.await.unwrap(), 4);
        let refused = retry_read(
            "S3",
            |_| {},
            RETRY_TIMEOUT,
            async || {
                calls.update(|calls| calls + 1);
                Err::<(), _>(failed(400, "ValidationException"))
            },
        );
        refused.await.unwrap_err();
        assert_eq!(calls.get(), 5);
    }

    #[tokio::test]
    async fn connection_that_breaks_is_waited_for_after_an_earlier_wait_only() {
        let mut retries = ReadRetries::new("S3", |_| {}, RETRY_TIMEOUT);
        let broken = || SdkError::<ScanError, _>::dispatch_failure(ConnectorError::io("".into()));
        assert!(!retries.wait(&broken()).await);
        assert!(retries.wait(&failed(503, "SlowDown")).await);
        assert!(retries.wait(&broken()).await);
    }
}
