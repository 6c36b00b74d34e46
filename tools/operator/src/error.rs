//! What a failed call to AWS means to an operator: what failed, and what to do. Must not know which
//! command made the call.
//!
//! A sentence is an [`anyhow::Error`], which ends the command and which `main` prints. Three places look at
//! the kind of a failure themselves: the import and the redrive report a refused item and go on, and the
//! key table tells a failed condition from a failed call.
//!
//! An SDK error may hold an item, so only its code and DynamoDB's message are passed on.

use std::error::Error as StdError;

use anyhow::{Error, anyhow};
use aws::call_error::{CallError, SdkFailure};
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ErrorMetadata, ProvideErrorMetadata, SdkError};
use store::error::StoreError;

/// How AWS's refusals of a signature read that was made with a wrong clock ("Troubleshoot Signature
/// Version 4 signing for AWS API requests", IAM User Guide).
const CLOCK_REFUSALS: [&str; 4] = [
    "Signature expired",
    "Signature not yet current",
    "RequestTimeTooSkewed",
    "RequestExpired",
];

/// The error of a call to DynamoDB that the SDK made.
pub fn call_error<E>(table_name: &str, error: SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let reason = match &error {
        SdkError::ServiceError(service) => service.err().message().map(ToOwned::to_owned),
        SdkError::DispatchFailure(_) => {
            if let Some(ended) = credentials_error(&error) {
                return anyhow!("Table {table_name}: no AWS credentials: {}", causes(ended));
            }
            Some(causes(&error))
        }
        _ => None,
    };
    let reason = reason.filter(|reason| !reason.is_empty());
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

/// What an error says when the command can be run again.
const ADVICE: [&str; 2] = [
    " Wait a minute and run the command again.",
    " Run the command again.",
];

/// What an error says, without the advice to run the command again: for a command that has done its part,
/// and has another advice.
pub fn without_advice(error: &Error) -> String {
    let mut text = format!("{error:#}");
    for advice in ADVICE {
        text = text.replace(advice, "");
    }
    text
}

/// The error of a call to another service than DynamoDB.
pub fn service_error<E>(service: &str, error: &SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let response = error.as_service_error();
    let code = response.and_then(ProvideErrorMetadata::code);
    if let (Some(response), Some(code)) = (response, code) {
        let message = response.message();
        let reason = format!("{code}: {}", message.unwrap_or_default());
        return match explain_signature(Some(code), message) {
            Some(advice) => anyhow!("{service} refused the call: {advice} ({reason})"),
            None => anyhow!("{service} {} the call: {reason}", verb_of(error)),
        };
    }
    if let Some(ended) = credentials_error(error) {
        return anyhow!("no AWS credentials: {}", causes(ended));
    }
    match error {
        SdkError::TimeoutError(_) => {
            anyhow!("{service} did not respond in time. Run the command again.")
        }
        SdkError::DispatchFailure(_) => anyhow!(
            "cannot reach {service}. Check the region, the network, and endpoints and proxies if you set them. ({})",
            causes(error)
        ),
        _ => anyhow!(
            "{service} failed: {}. Run the command again.",
            causes(error)
        ),
    }
}

/// What a service did with a call that it answered with an error.
fn verb_of<E>(error: &SdkError<E, HttpResponse>) -> &'static str
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let SdkFailure::Refused(refusal) = SdkFailure::from(error) else {
        return "failed";
    };
    match refusal.call_error() {
        CallError::Throttled => "throttled",
        CallError::ServerError => "failed",
        _ => "refused",
    }
}

/// The error of the provider of credentials, if a call failed because of it.
pub fn credentials_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e CredentialsError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// What an error of the SDK and its causes say, in one line, each once.
pub fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = own_text(error);
        let is_new = !text.is_empty() && !texts.iter().any(|known| known.contains(&text));
        if is_new {
            texts.push(text);
        }
        next = error.source();
    }
    texts.join(": ")
}

/// What an error says without its causes. It is nothing if it only says that there is a cause.
fn own_text(error: &(dyn StdError + 'static)) -> String {
    if let Some(metadata) = error.downcast_ref::<ErrorMetadata>() {
        let code = metadata.code().unwrap_or_default();
        let message = metadata.message().unwrap_or_default();
        return format!("{code}: {message}");
    }
    if let Some(CredentialsError::ProviderTimedOut(_)) = error.downcast_ref() {
        return error.to_string();
    }
    let text = error.to_string();
    let is_empty = error.is::<CredentialsError>()
        || ["service error", "dispatch failure", "unhandled error"]
            .iter()
            .any(|empty| text.starts_with(empty));
    if is_empty {
        return String::new();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// What an operator can do about a refused call, if its signature is the reason.
pub fn explain_signature(code: Option<&str>, message: Option<&str>) -> Option<&'static str> {
    let cause = CallError::of_signature(code?, message)?;
    Some(explain_cause(&cause))
}

/// What an operator can do about credentials that a service refuses to give, if the clock of this
/// machine is the reason. The provider of the credentials passes on only a text.
pub fn explain_clock(reason: &str) -> Option<&'static str> {
    let is_clock = CLOCK_REFUSALS
        .iter()
        .any(|refusal| reason.contains(refusal));
    is_clock.then(|| explain_cause(&CallError::ClockSkew))
}

/// The error of a call that [`store`] made.
pub fn store_error(table_name: &str, error: &StoreError) -> Error {
    anyhow!("Table {table_name}: {} ({error})", explain(error))
}

/// The error of a write that [`store`] made, or that a call of `store` repeated. The same command, run again,
/// recognizes the write if it took effect.
pub fn write_error(table_name: &str, error: &StoreError) -> Error {
    let told = store_error(table_name, error);
    if is_refused(error) {
        return told;
    }
    anyhow!(
        "{told} It is unknown whether this write took effect. If it did, the same command recognizes it when you run it again."
    )
}

/// Whether DynamoDB refused a write for good. Of any other, an attempt may have taken effect: the error is that
/// of the last one.
fn is_refused(error: &StoreError) -> bool {
    match error {
        StoreError::Unavailable(cause) => match cause {
            CallError::Throttled
            | CallError::Conflict
            | CallError::DeadlineExceeded
            | CallError::Timeout
            | CallError::DispatchFailure
            | CallError::ResponseError
            | CallError::ServerError => false,
            CallError::ClockSkew
            | CallError::NoSuchTable
            | CallError::AccessDenied
            | CallError::InvalidCredentials
            | CallError::UnusableKey(_)
            | CallError::Other(_) => true,
        },
        StoreError::Invalid
        | StoreError::ItemTooLarge
        | StoreError::CallTooLarge
        | StoreError::Corrupt
        | StoreError::Unserializable => true,
    }
}

/// What an operator can do about a failed call.
fn explain(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(cause) => explain_cause(cause),
        StoreError::Invalid | StoreError::ItemTooLarge | StoreError::CallTooLarge => {
            "DynamoDB rejected an item."
        }
        StoreError::Corrupt => "an item is not as Intake writes it.",
        StoreError::Unserializable => "the request could not be written.",
    }
}

fn explain_cause(cause: &CallError) -> &'static str {
    match cause {
        CallError::Timeout => "DynamoDB did not respond in time. Run the command again.",
        // The retries may have been throttled until then.
        CallError::DeadlineExceeded => {
            "DynamoDB did not respond in time, or throttles the calls. Wait a minute and run the command again."
        }
        CallError::DispatchFailure | CallError::ResponseError => {
            "cannot reach DynamoDB. Check AWS_REGION, the network, and AWS_ENDPOINT_URL_DYNAMODB if it is set."
        }
        CallError::Throttled => {
            "DynamoDB throttles the calls. Wait a minute and run the command again."
        }
        CallError::Conflict => "another write was under way. Run the command again.",
        CallError::ServerError => "DynamoDB failed. Run the command again.",
        CallError::ClockSkew => "the clock of this machine is wrong. Set it.",
        CallError::NoSuchTable => {
            "it does not exist in this region and AWS account. Check --stack, --local, the table variables and AWS_REGION."
        }
        CallError::AccessDenied => {
            "these credentials do not permit this. Use those of an operator."
        }
        CallError::InvalidCredentials => "AWS rejected the credentials. Sign in again.",
        CallError::UnusableKey(_) => "its KMS key cannot be used. Check the key and its policy.",
        CallError::Other(_) => "DynamoDB failed.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_without_an_answer_is_told_as_unknown_and_a_refused_one_is_not() {
        let told = |error: StoreError| write_error("T", &error).to_string();
        assert_eq!(
            told(CallError::DeadlineExceeded.into()),
            "Table T: DynamoDB did not respond in time, or throttles the calls. Wait a minute and run the command again. \
             (DeadlineExceeded) It is unknown whether this write took effect. If it did, the same command recognizes it when \
             you run it again."
        );
        assert!(told(CallError::ServerError.into()).contains("unknown"));
        for refused in [CallError::AccessDenied.into(), StoreError::Invalid] {
            assert!(!told(refused).contains("unknown"));
        }
    }
}
