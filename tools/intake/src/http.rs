//! HTTP requests that no SDK makes, over the same kind of connections as the SDKs' clients have:
//! the requests of `verify`, and the calls of [`crate::signed_calls`]. Must not know what is sent.

use std::time::Duration;

use anyhow::{Context as _, Result};
use aws::sdk_config::http_connector;
use aws::variables::Variables;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;

/// The timeout of a connection to AWS. An operator may be far from the region, on a slow line.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before each further attempt.
const PAUSE_DURATION: Duration = Duration::from_secs(1);

/// Sends requests, on connections that it keeps.
pub(crate) struct HttpClient {
    connector: SharedHttpConnector,
    /// How long a response may take.
    timeout: Duration,
}

/// A response with its whole body.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    pub(crate) fn new(timeout: Duration) -> Result<Self> {
        Ok(Self {
            connector: http_connector(&Variables::from_process(), CONNECT_TIMEOUT)?,
            timeout,
        })
    }

    /// Sends a request. Its `host` is that of the URL, unless the headers have another one.
    pub(crate) async fn send<'a>(
        &self,
        method: &str,
        url: String,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: Vec<u8>,
    ) -> Result<HttpResponse> {
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method(method)?;
        request
            .set_uri(url.as_str())
            .with_context(|| format!("{url} is not a URL"))?;
        for (name, value) in headers {
            request
                .headers_mut()
                .try_insert(name.to_owned(), value.to_owned())?;
        }
        tokio::time::timeout(self.timeout, self.exchange(request))
            .await
            .with_context(|| format!("no response within {} s", self.timeout.as_secs()))?
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse> {
        let mut response = self.connector.call(request).await?;
        let body = ByteStream::new(response.take_body()).collect().await?;
        Ok(HttpResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: body.to_vec(),
        })
    }
}

/// Makes at most this many attempts, with a pause before each further one, until the outcome of one
/// is final.
pub(crate) async fn attempt_until_final<T>(
    attempts: usize,
    attempt: impl AsyncFn() -> T,
    is_final: impl Fn(&T) -> bool,
) -> T {
    let mut outcome = attempt().await;
    for _ in 1..attempts {
        if is_final(&outcome) {
            break;
        }
        tokio::time::sleep(PAUSE_DURATION).await;
        outcome = attempt().await;
    }
    outcome
}
