//! An error that a service returned: its code, its message, and the body with what else it says.

use std::fmt;

use aws_smithy_runtime_api::client::interceptors::context::Error;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::error::ErrorMetadata;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;

/// The code with which DynamoDB refuses a write whose condition is not met.
const CONDITION_FAILED: &str = "ConditionalCheckFailedException";

/// An error that a service returned.
pub struct ServiceError {
    metadata: ErrorMetadata,
    body: Bytes,
}

/// The body of an error ("AWS JSON 1.0 protocol" in the Smithy documentation). Services spell the message in two ways.
#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(rename = "__type")]
    code: Option<String>,
    message: Option<String>,
    #[serde(rename = "Message")]
    capitalized_message: Option<String>,
}

impl ServiceError {
    /// The error in a response.
    pub(crate) fn new(response: &HttpResponse, body: Bytes) -> Self {
        let ErrorBody { code, message, capitalized_message } = serde_json::from_slice(&body).unwrap_or_default();
        let code = code.as_deref().or_else(|| response.headers().get("x-amzn-errortype"));
        let mut metadata = ErrorMetadata::builder();
        if let Some(code) = code {
            metadata = metadata.code(without_namespace(code));
        }
        if let Some(message) = message.or(capitalized_message) {
            metadata = metadata.message(message);
        }
        Self { metadata: metadata.build(), body }
    }

    /// The error that the deserializer returned; another one has no code.
    pub(crate) fn from_erased(error: Error) -> Self {
        let other = |_| Self { metadata: ErrorMetadata::default(), body: Bytes::new() };
        error.downcast().unwrap_or_else(other)
    }

    /// If the condition of a write was not met: the rest of the response, or [`StoreError::Corrupt`].
    pub(crate) fn condition_failed<T: DeserializeOwned>(&self) -> Option<Result<T, StoreError>> {
        let parse = || serde_json::from_slice(&self.body).map_err(|_| StoreError::Corrupt);
        (self.metadata.code() == Some(CONDITION_FAILED)).then(parse)
    }
}

/// `com.amazonaws.dynamodb.v20120810#ThrottlingException:http://...` is `ThrottlingException`.
fn without_namespace(code: &str) -> &str {
    let code = code.split_once('#').map_or(code, |(_, code)| code);
    code.split_once(':').map_or(code, |(code, _)| code)
}

impl ProvideErrorMetadata for ServiceError {
    fn meta(&self) -> &ErrorMetadata {
        &self.metadata
    }
}

/// Only the code: the message and the body may hold an item.
impl fmt::Debug for ServiceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.metadata.code().unwrap_or("no code"))
    }
}

impl std::error::Error for ServiceError {}

#[cfg(test)]
mod tests {
    use aws_smithy_runtime_api::http::StatusCode;
    use aws_smithy_types::body::SdkBody;

    use super::*;

    fn error(header: Option<&'static str>, body: &'static str) -> ServiceError {
        let mut response = HttpResponse::new(StatusCode::try_from(400).unwrap(), SdkBody::empty());
        if let Some(code) = header {
            response.headers_mut().insert("x-amzn-errortype", code);
        }
        ServiceError::new(&response, Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn code_is_that_of_the_body_or_the_header_without_its_namespace() {
        for (header, body, code) in [
            (None, r#"{"__type":"com.amazonaws.dynamodb.v20120810#Throttling","message":"m"}"#, Some("Throttling")),
            (None, r#"{"__type":"AccessDeniedException","Message":"m"}"#, Some("AccessDeniedException")),
            (Some("SlowDown:http://internal.amazon.com/"), "{}", Some("SlowDown")),
            (Some("SlowDown"), "<html>", Some("SlowDown")),
            (None, "<html>", None),
            (None, "", None),
        ] {
            assert_eq!(error(header, body).code(), code, "{body}");
        }
        assert_eq!(error(None, r#"{"__type":"A","Message":"m"}"#).message(), Some("m"));
    }

    #[test]
    fn failed_condition_has_the_item_that_exists() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Existing {
            a: u8,
        }
        let code = r#""__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException""#;
        let body: &'static str = format!("{{{code},\"a\":1}}").leak();
        assert_eq!(error(None, body).condition_failed(), Some(Ok(Existing { a: 1 })));
        assert_eq!(
            error(None, format!("{{{code}}}").leak()).condition_failed::<Existing>(),
            Some(Err(StoreError::Corrupt))
        );
        assert_eq!(error(None, r#"{"__type":"Other","a":1}"#).condition_failed::<Existing>(), None);
    }
}
