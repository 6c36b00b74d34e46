//! What a failed call to DynamoDB means to an operator: what failed, and what to do. Must not know
//! which command made the call.
//!
//! DynamoDB's errors become sentences here; S3's, SQS's and CloudFormation's do beside their calls. A
//! sentence is an [`anyhow::Error`], which ends the command and which `main` prints. Three places look at
//! the kind of a failure themselves: the import and the redrive report a refused item and go on, and the
//! key table tells a failed condition from a failed call.
//!
//! An SDK error may hold an item, so only its code and DynamoDB's message are passed on.

use anyhow::{Error, anyhow};
use aws::cause::Cause;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use store::error::StoreError;

/// The error of a call that the SDK made.
pub fn call_error<E: ProvideErrorMetadata>(
    table_name: &str,
    error: SdkError<E, HttpResponse>,
) -> Error {
    let reason = error
        .as_service_error()
        .and_then(|service| service.message())
        .map(ToOwned::to_owned);
    match (StoreError::from(error), reason) {
        (StoreError::Invalid, Some(reason)) => {
            anyhow!("Table {table_name}: DynamoDB rejected the request: {reason}")
        }
        (error, Some(reason)) => anyhow!(
            "Table {table_name}: {} ({error}: {reason})",
            explain(&error)
        ),
        (error, None) => store_error(table_name, &error),
    }
}

/// The error of a call that [`store`] made.
pub fn store_error(table_name: &str, error: &StoreError) -> Error {
    anyhow!("Table {table_name}: {} ({error})", explain(error))
}

/// What an operator can do about a failed call.
fn explain(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(cause) => explain_cause(cause),
        StoreError::Invalid | StoreError::ItemTooLarge => "DynamoDB rejected an item.",
        StoreError::Corrupt => "an item is not as Intake writes it.",
        StoreError::Unserializable => "the request could not be written.",
    }
}

fn explain_cause(cause: &Cause) -> &'static str {
    match cause {
        Cause::Timeout | Cause::DeadlineExceeded => {
            "DynamoDB did not answer in time. Run the command again."
        }
        Cause::DispatchFailure | Cause::ResponseError => {
            "cannot reach DynamoDB. Check the network, and AWS_ENDPOINT_URL_DYNAMODB if it is set."
        }
        Cause::Throttled => "DynamoDB throttles it. Wait a minute and run the command again.",
        Cause::Conflict => "another write was under way. Run the command again.",
        Cause::ServerError => "DynamoDB failed. Run the command again.",
        Cause::ClockSkew => {
            "the clock of this machine differs from that of AWS by minutes. Correct it."
        }
        Cause::NoSuchTable => {
            "it does not exist in this region and AWS account. Check --stack, --local, the table variables and AWS_REGION."
        }
        Cause::AccessDenied => "these credentials do not permit this. Use those of an operator.",
        Cause::InvalidCredentials => "AWS rejected the credentials. Sign in again.",
        Cause::Other(_) => "DynamoDB failed.",
    }
}
