//! Responses in a service's place.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use processes::http_server::{Break, response};
use serde_json::json;

use super::call::AwsService;

/// The response to a call that a service refuses.
pub(super) fn refusal(
    service: AwsService,
    status: u16,
    code: &str,
    message: &str,
) -> Response<Full<Bytes>> {
    if service == AwsService::S3 {
        let text = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        return response(status, &[("content-type", "application/xml")], text);
    }
    let kind = format!("com.amazonaws.dynamodb.v20120810#{code}");
    let body = json!({"__type": kind, "message": message});
    json_response(status, body.to_string())
}

/// The response when a service fails.
pub(super) fn server_error(service: AwsService) -> Response<Full<Bytes>> {
    let code = match service {
        AwsService::DynamoDb | AwsService::Other => "InternalServerError",
        AwsService::Sqs | AwsService::S3 => "InternalError",
    };
    refusal(service, 500, code, "on purpose")
}

/// The end of a connection in place of a response.
pub(super) fn broken() -> Response<Full<Bytes>> {
    let mut reset = response(500, &[], "");
    reset.extensions_mut().insert(Break::Reset);
    reset
}

pub(super) fn json_response(status: u16, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    response(
        status,
        &[("content-type", "application/x-amz-json-1.0")],
        body,
    )
}

/// The response when no item of a `BatchWriteItem` was processed. The requests are not parsed, because that
/// takes long if they are large.
pub(super) fn all_unprocessed(batch: &[u8]) -> Response<Full<Bytes>> {
    let requests = batch
        .strip_prefix(b"{\"RequestItems\":")
        .unwrap_or_default();
    json_response(200, [b"{\"UnprocessedItems\":", requests].concat())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn requests_of_a_batch_write_come_back_unprocessed_as_they_were_written() {
        let response = all_unprocessed(br#"{"RequestItems":{"Signals":[2, 1]}}"#);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(
            body,
            br#"{"UnprocessedItems":{"Signals":[2, 1]}}"#.as_slice()
        );
    }
}
