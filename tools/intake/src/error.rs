//! What went wrong, as one sentence for a person.
//!
//! An error of the SDK may hold an item, so only its kind and, where DynamoDB's own words help, its message go on.

use std::fmt;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use shared::store::{Cause, StoreError};

/// One sentence that names what is wrong and what to do.
#[derive(Debug)]
pub(crate) struct Error {
    sentence: String,
    closed_pipe: bool,
}

impl Error {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), closed_pipe: false }
    }

    /// Standard output could not be written. Whoever closed it, as `head` does, has seen enough.
    pub(crate) fn of_output(error: &std::io::Error) -> Self {
        let closed_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self { sentence: format!("Cannot write to standard output: {error}."), closed_pipe }
    }

    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }

    /// A call about `table` failed.
    pub(crate) fn of_call<E: ProvideErrorMetadata, R>(table: &str, error: SdkError<E, R>) -> Self {
        let refusal = match &error {
            SdkError::ServiceError(service) => service.err().message().map(ToOwned::to_owned),
            _ => None,
        };
        match (StoreError::from(error), refusal) {
            (StoreError::Invalid, Some(reason)) => {
                Self::new(format!("DynamoDB refused a request on {table}: {reason}"))
            }
            (error, _) => Self::of_store(table, &error),
        }
    }

    /// A call about `table` failed, as [`shared`] tells it.
    pub(crate) fn of_store(table: &str, error: &StoreError) -> Self {
        let cause = match error {
            StoreError::Unavailable(cause) => cause,
            StoreError::Corrupt => {
                return Self::new(format!("An item of {table} is no record of a key as this service writes it."));
            }
            StoreError::Invalid | StoreError::ItemTooLarge => {
                return Self::new(format!("DynamoDB refused what was to be written to {table}: {error}."));
            }
        };
        Self::new(match cause {
            Cause::Timeout | Cause::DeadlineExceeded => {
                format!("DynamoDB does not answer in time for {table}: run the command again.")
            }
            Cause::DispatchFailure | Cause::ResponseError => {
                format!(
                    "Cannot reach DynamoDB for {table}: check the network, and AWS_ENDPOINT_URL_DYNAMODB if it is set."
                )
            }
            Cause::Throttled => format!("DynamoDB throttles {table}: wait a little and run the command again."),
            Cause::Service(code) => of_service(table, code),
            Cause::Sdk => format!("DynamoDB could not do this on {table}: {error}."),
        })
    }
}

fn of_service(table: &str, code: &str) -> String {
    match code {
        "ResourceNotFoundException" => format!(
            "There is no table {table} in this region and account: check --stack, --local or the table variables, \
             and AWS_REGION."
        ),
        "AccessDeniedException" => format!("These credentials may not do this on {table}: use an operator's."),
        "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "ExpiredTokenException"
        | "MissingAuthenticationTokenException"
        | "IncompleteSignatureException" => {
            "AWS does not accept these credentials: they are wrong or have expired. Sign in again.".to_owned()
        }
        other => format!("DynamoDB could not do this on {table}: {other}."),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}
