//! What a failed call to DynamoDB means to an operator: what failed, and what to do.
//!
//! An SDK error may hold an item, so only its code and, where it helps, DynamoDB's message are passed on.

use anyhow::{Error, anyhow};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use store::{Cause, StoreError};

/// The message of a call to `table` that the SDK made.
pub(crate) fn call_error<E: ProvideErrorMetadata, R>(table: &str, error: SdkError<E, R>) -> Error {
    let reason = error.as_service_error().and_then(|service| service.message()).map(ToOwned::to_owned);
    match (StoreError::from(error), reason) {
        (StoreError::Invalid, Some(reason)) => anyhow!("DynamoDB rejected a request for the table {table}: {reason}"),
        (error, _) => store_error(table, &error),
    }
}

/// The message of a call to `table` that [`store`] made.
pub(crate) fn store_error(table: &str, error: &StoreError) -> Error {
    anyhow!(explain(table, error).message)
}

/// Whether the same call may succeed a little later.
pub(crate) fn is_transient(error: &StoreError) -> bool {
    explain("", error).transient
}

struct Explanation {
    transient: bool,
    message: String,
}

/// The only place that looks at why a call failed.
fn explain(table: &str, error: &StoreError) -> Explanation {
    let StoreError::Unavailable(cause) = error else {
        let message = format!("DynamoDB rejected an item for the table {table}: {error}.");
        return Explanation { transient: false, message };
    };
    let (transient, message) = match cause {
        Cause::NoSuchTable => (
            false,
            format!(
                "The table {table} does not exist in this region and AWS account. Check --stack, --local or the table \
                 variables, and AWS_REGION."
            ),
        ),
        Cause::Timeout | Cause::DeadlineExceeded => {
            (true, format!("DynamoDB did not answer in time for the table {table}. Run the command again."))
        }
        Cause::DispatchFailure | Cause::ResponseError => (
            true,
            format!(
                "Cannot reach DynamoDB for the table {table}. Check the network, and AWS_ENDPOINT_URL_DYNAMODB if it is set."
            ),
        ),
        Cause::AccessDenied => {
            (false, format!("These credentials have no permission for this on the table {table}. Use an operator's."))
        }
        Cause::InvalidCredentials => {
            (false, "AWS rejected the credentials: they are wrong or expired. Sign in again.".to_owned())
        }
        Cause::Throttled => {
            (true, format!("DynamoDB throttles the table {table}. Wait a minute and run the command again."))
        }
        Cause::ServerError => {
            (true, format!("DynamoDB failed for the table {table} ({error}). Run the command again."))
        }
        Cause::Other(_) => (false, format!("DynamoDB failed for the table {table}: {error}.")),
    };
    Explanation { transient, message }
}
