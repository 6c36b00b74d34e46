//! What the clients of both targets have in common.

use std::time::Duration;

use aws::cause::{CallFailure, Cause};
use aws::deadline::{Deadline, until};
use aws::environment::{ConfigError, Variables, sdk_config};
use aws::s3::S3Error;
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_eventbridge::config::http::HttpResponse;
use aws_sdk_eventbridge::error::{ProvideErrorMetadata, SdkError};

/// How long one attempt of a call may take: the largest is 4 MB.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bound of the wait before the first retry, instead of the SDK's one second.
const BACKOFF_BASE: Duration = Duration::from_millis(100);

/// The configuration of both clients. Each service has the SDK's retry partition of its own.
pub(crate) fn config(variables: &Variables) -> Result<SdkConfig, ConfigError> {
    let config = sdk_config(variables)?
        .into_builder()
        .retry_config(RetryConfig::standard().with_initial_backoff(BACKOFF_BASE))
        .timeout_config(
            TimeoutConfig::builder()
                .operation_attempt_timeout(ATTEMPT_TIMEOUT)
                .build(),
        );
    Ok(config.build())
}

/// The first event that a target did not take. It may have taken later ones.
#[derive(Debug)]
pub(crate) struct Undelivered {
    /// Its position among those of the call, or of all calls.
    pub(crate) position: usize,
    pub(crate) cause: TargetError,
}

/// Of a call that failed as a whole.
impl From<TargetError> for Undelivered {
    fn from(cause: TargetError) -> Self {
        Self { position: 0, cause }
    }
}

/// Why a call failed, or a target did not take an event. The log shows it, so it is never a
/// message, which may contain an event.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// The call failed, or the target returned another code.
    #[error(transparent)]
    Call(#[from] Cause),
    /// The request could not be written or signed.
    #[error("RequestError")]
    RequestError,
    /// The failure bucket did not take a record.
    #[error(transparent)]
    Bucket(S3Error),
    /// `EventBridge` will never take this event. Other errors can pass, or be mended by the
    /// operator.
    #[error("{0}")]
    InvalidEvent(String),
    /// The target will never take this call, because of what is in it: it does not say which event.
    #[error("{0}")]
    InvalidCall(String),
}

impl TargetError {
    /// The cause of an error code.
    pub(crate) fn of_code(code: &str) -> Self {
        match code {
            "InvalidArgument" | "MalformedDetail" => Self::InvalidEvent(code.to_owned()),
            "InvalidArgumentException"
            | "RequestEntityTooLargeException"
            | "SerializationException"
            | "ValidationError"
            | "ValidationException" => Self::InvalidCall(code.to_owned()),
            code => match Cause::from_code(code, false) {
                Cause::InvalidCredentials => Cause::InvalidCredentials.into(),
                // The others name DynamoDB's errors.
                _ => Cause::Other(code.to_owned()).into(),
            },
        }
    }

    /// Whether the target will never take the event, because of what is in it.
    fn is_for_good(&self) -> bool {
        matches!(self, Self::InvalidEvent(_) | Self::InvalidCall(_))
    }
}

/// The calls that send items in their order, until one fails for another reason than what is in it.
/// A call that is refused as a whole is made again with half of its items, so that each item that a
/// target will never take is found.
#[derive(Debug)]
pub(crate) struct Calls<'i, T> {
    items: &'i [T],
    first: usize,
    /// The most items of the next call.
    most: usize,
    /// What the target will never take.
    pub(crate) refused: Vec<Undelivered>,
    /// What ended the calls.
    pub(crate) failed: Option<Undelivered>,
}

impl<'i, T> Calls<'i, T> {
    /// Makes the calls with `call`. One takes as many items as `fitting` says, and names an
    /// undelivered one by its position in the call.
    pub(crate) async fn make<F: Future<Output = Result<(), Undelivered>>>(
        items: &'i [T],
        fitting: fn(&[T]) -> usize,
        call: impl Fn(&'i [T]) -> F,
    ) -> Self {
        let mut calls = Self {
            items,
            first: 0,
            most: usize::MAX,
            refused: Vec::new(),
            failed: None,
        };
        while let now = calls.next(fitting)
            && !now.is_empty()
        {
            calls.note(now.len(), call(now).await);
        }
        calls
    }

    /// The items of the next call. Empty at the end.
    fn next(&self, fitting: fn(&[T]) -> usize) -> &'i [T] {
        let rest = if self.failed.is_some() {
            &[]
        } else {
            self.items.get(self.first..).unwrap_or_default()
        };
        rest.get(..fitting(rest).min(self.most)).unwrap_or(rest)
    }

    /// Notes what became of a call with so many items.
    fn note(&mut self, count: usize, result: Result<(), Undelivered>) {
        match result {
            Ok(()) => (self.first, self.most) = (self.first + count, self.most.saturating_mul(2)),
            Err(Undelivered {
                cause: TargetError::InvalidCall(_),
                ..
            }) if count > 1 => self.most = count / 2,
            Err(Undelivered { position, cause }) => {
                self.first += position;
                let undelivered = Undelivered {
                    position: self.first,
                    cause,
                };
                if undelivered.cause.is_for_good() {
                    self.first += 1;
                    self.refused.push(undelivered);
                } else {
                    self.failed = Some(undelivered);
                }
            }
        }
    }

    /// Whether the target took none of several items, for what is in the first: then it may be the
    /// target that is at fault.
    pub(crate) fn takes_none(&self) -> bool {
        self.items.len() > 1 && !self.refused.is_empty() && self.first == self.refused.len()
    }
}

/// Checks that each item or record of a call, whose position in it is given, has a result with an
/// id and no error code.
pub(crate) fn confirm<'r>(
    positions: impl ExactSizeIterator<Item = usize>,
    results: impl ExactSizeIterator<Item = (Option<&'r str>, Option<&'r str>)>,
) -> Result<(), Undelivered> {
    if results.len() != positions.len() {
        return Err(TargetError::from(Cause::ResponseError).into());
    }
    for (position, (id, code)) in positions.zip(results) {
        if id.is_none() || code.is_some() {
            let cause = code.map_or(Cause::ResponseError.into(), TargetError::of_code);
            return Err(Undelivered { position, cause });
        }
    }
    Ok(())
}

/// Waits for a call until `deadline`.
pub(crate) async fn call<T, E: ProvideErrorMetadata>(
    call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    deadline: Deadline,
) -> Result<T, TargetError> {
    let Ok(result) = until(deadline, call).await else {
        return Err(Cause::DeadlineExceeded.into());
    };
    result.map_err(|error| match CallFailure::of(&error) {
        CallFailure::NotSent => TargetError::RequestError,
        CallFailure::Refused { code, .. } => TargetError::of_code(code),
        CallFailure::Unanswered(cause) => cause.into(),
    })
}
