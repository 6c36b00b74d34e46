//! Objects of S3. An object is read or written whole, with a request that this module signs. This
//! module must not know what is in an object.
//!
//! S3 does not speak the protocol of the other services, and its client in the SDK would be the
//! largest crate of a function. A write is made once: callers know whether, and when, another attempt
//! makes sense. A read is hedged. The templates set the
//! endpoint of the region, which has the path style: `https://endpoint/bucket/key`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::config::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use aws_smithy_types::date_time::{DateTime, Format};
use futures_util::future::select_ok;
use model::timestamp::Timestamp;
use tokio::time::timeout;

use crate::call_error::CallError;
use crate::deadline::{Deadline, run_until};

/// The variable of the endpoint ("Service-specific endpoints" in the AWS SDKs and Tools Reference
/// Guide).
pub const ENDPOINT_VARIABLE: &str = "AWS_ENDPOINT_URL_S3";

/// How long a call waits for a response before the connections to S3 count as lost. AWS says that a first
/// byte takes 100 to 200 ms ("Performance design patterns for Amazon S3" in its user guide).
pub const UNRESPONSIVE_TIMEOUT: Duration = Duration::from_millis(400);

/// How long S3 has for the response to a read before the read is hedged. By then, the connection that may be
/// lost is no longer used.
const HEDGE_READ_AFTER: Duration = Duration::from_millis(500);
const _: () = assert!(HEDGE_READ_AFTER.as_millis() > UNRESPONSIVE_TIMEOUT.as_millis());

/// The longest response to a request that failed: an error of S3 has a few hundred bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How S3 is reached, and with which credentials.
#[derive(Clone, Debug)]
pub struct S3Connection {
    /// Its endpoint, without the name of a bucket.
    pub endpoint: String,
    pub region: String,
    /// The credentials that sign each request.
    pub credentials: SharedCredentialsProvider,
    /// Makes the connections to it.
    pub connector: SharedHttpConnector,
}

/// A bucket, and how it is reached.
#[derive(Clone, Debug)]
pub struct Bucket {
    name: String,
    connection: S3Connection,
}

/// An object as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Object {
    /// Its content, at most as long as the limit of the read.
    pub body: Vec<u8>,
    /// When it was written, in whole seconds.
    pub last_modified: Timestamp,
}

/// Why a request to S3 failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum S3Error {
    /// S3 did not respond, its response cannot be read, it failed, or it refused the signature.
    #[error(transparent)]
    Unavailable(#[from] CallError),
    /// There is no such object, or no such bucket. S3 says so only to callers who may list the
    /// bucket: for others it is [`Self::Refused`].
    #[error("NotFound")]
    Missing,
    /// Another error response, with its code if it has one.
    #[error("HTTP {status} {code}")]
    Refused {
        status: u16,
        /// `Code` of the body; empty without a body.
        code: String,
    },
    /// The object is larger than the limit.
    #[error("the object is too large")]
    TooLarge,
    /// The request could not be written or signed.
    #[error("RequestError")]
    RequestError,
}

/// A request before it is signed.
struct UnsignedRequest<'a> {
    method: &'static str,
    key: &'a str,
    headers: Vec<(&'static str, &'a str)>,
    body: Vec<u8>,
}

impl Bucket {
    pub fn new(name: impl Into<String>, connection: S3Connection) -> Self {
        Self {
            name: name.into(),
            connection,
        }
    }

    /// Its name, for URLs and messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads an object of at most `limit` bytes, whose key consists of unreserved characters and
    /// slashes. If the connection breaks before the response, or S3 does not respond, the read is repeated.
    ///
    /// # Errors
    /// [`S3Error`]
    pub async fn get(
        &self,
        key: &str,
        limit: usize,
        deadline: Deadline,
    ) -> Result<S3Object, S3Error> {
        run_until(deadline, async {
            let response = self.hedged_read(key).await?;
            let (headers, body) = read_response(response, limit).await?;
            let last_modified = headers
                .get("last-modified")
                .and_then(http_date)
                .ok_or(CallError::ResponseError)?;
            Ok(S3Object {
                body,
                last_modified,
            })
        })
        .await
        .map_err(|_| CallError::Timeout)?
    }

    /// Writes an object, whose key consists of unreserved characters and slashes. It replaces the
    /// object that has this key, if there is one.
    ///
    /// # Errors
    /// [`S3Error`]
    pub async fn put(
        &self,
        key: &str,
        body: Vec<u8>,
        content_type: &str,
        deadline: Deadline,
    ) -> Result<(), S3Error> {
        let request = UnsignedRequest {
            method: "PUT",
            key,
            headers: vec![("content-type", content_type)],
            body,
        };
        run_until(deadline, async {
            let response = self.send(request).await?;
            read_response(response, MAX_ERROR_BYTES).await?;
            Ok(())
        })
        .await
        .map_err(|_| CallError::Timeout)?
    }

    /// Reads an object, and hedges the read. If the first read fails, it is repeated. Returns the first response.
    async fn hedged_read(&self, key: &str) -> Result<HttpResponse, S3Error> {
        let read = || {
            let request = UnsignedRequest {
                method: "GET",
                key,
                headers: Vec::new(),
                body: Vec::new(),
            };
            Box::pin(self.send(request))
        };
        let mut first = read();
        match timeout(HEDGE_READ_AFTER, &mut first).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(_)) => read().await,
            Err(_) => {
                let (response, _) = select_ok([first, read()]).await?;
                Ok(response)
            }
        }
    }

    /// Sends a request, and returns the response, whose body is not read yet.
    async fn send(&self, request: UnsignedRequest<'_>) -> Result<HttpResponse, S3Error> {
        let request = self
            .signed(request)
            .await
            .map_err(|_| S3Error::RequestError)?;
        let response = self.connection.connector.call(request).await;
        Ok(response.map_err(|_| CallError::DispatchFailure)?)
    }

    /// The request, signed ("Authenticating Requests (AWS Signature Version 4)" in the S3 API
    /// reference).
    async fn signed(&self, request: UnsignedRequest<'_>) -> Result<HttpRequest, BoxError> {
        let UnsignedRequest {
            method,
            key,
            headers,
            body,
        } = request;
        let S3Connection {
            endpoint,
            region,
            credentials,
            ..
        } = &self.connection;
        let url = format!("{}/{}/{key}", endpoint.trim_end_matches('/'), self.name);
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        let identity = credentials.provide_credentials().await?.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name("s3")
            .time(SystemTime::now())
            .settings(settings)
            .build()?
            .into();
        let signable = SignableRequest::new(
            method,
            &url,
            headers.iter().copied(),
            SignableBody::Bytes(&body),
        )?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        let length = body.len().to_string();
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method(method)?;
        request.set_uri(url)?;
        let signed_headers = instructions
            .headers()
            .chain(headers)
            .chain([("content-length", length.as_str())]);
        for (name, value) in signed_headers {
            request
                .headers_mut()
                .try_insert(name.to_owned(), value.to_owned())?;
        }
        Ok(request)
    }
}

/// The headers and the body of a response, if the request succeeded.
async fn read_response(
    mut response: HttpResponse,
    limit: usize,
) -> Result<(Headers, Vec<u8>), S3Error> {
    if !response.status().is_success() {
        return Err(refusal(response).await);
    }
    let body = read_body(response.take_body(), limit).await?;
    Ok((response.headers().clone(), body))
}

async fn read_body(body: SdkBody, limit: usize) -> Result<Vec<u8>, S3Error> {
    let mut body = ByteStream::new(body);
    let mut bytes = Vec::new();
    while let Some(chunk) = body
        .try_next()
        .await
        .map_err(|_| CallError::ResponseError)?
    {
        if bytes.len().saturating_add(chunk.len()) > limit {
            return Err(S3Error::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The error of a response ("Error responses" in the S3 API reference).
async fn refusal(mut response: HttpResponse) -> S3Error {
    let status = response.status().as_u16();
    if status == 404 {
        return S3Error::Missing;
    }
    let body = read_body(response.take_body(), MAX_ERROR_BYTES)
        .await
        .unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    let code = body
        .split_once("<Code>")
        .and_then(|(_, rest)| rest.split_once("</Code>"))
        .map(|(code, _)| code);
    if let Some(error) = code.and_then(|code| CallError::of_signature(code, None)) {
        return error.into();
    }
    let by_status = CallError::from_status(status);
    if by_status.is_transient() {
        return by_status.into();
    }
    S3Error::Refused {
        status,
        code: code.unwrap_or_default().to_owned(),
    }
}

/// The time of a `Last-Modified`.
fn http_date(text: &str) -> Option<Timestamp> {
    let date = DateTime::from_str(text, Format::HttpDate).ok()?;
    let since_1970 = SystemTime::try_from(date)
        .ok()?
        .duration_since(UNIX_EPOCH)
        .ok()?;
    Some(Timestamp::from_millis(0).plus(Duration::from_secs(since_1970.as_secs())))
}

#[cfg(test)]
mod tests;
