//! HTTP requests that no SDK makes, over the connections that the SDKs' clients have, too.

use std::time::Duration;

use anyhow::{Context as _, Result};
use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use store::environment::http_connector;

/// The timeout of a connection to AWS. An operator may be far from the region, on a slow line.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends requests, on connections that it keeps.
pub(crate) struct HttpClient {
    connector: SharedHttpConnector,
    /// How long a response may take.
    timeout: Duration,
}

/// A response with its whole body.
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    pub(crate) fn new(timeout: Duration) -> Result<Self> {
        Ok(Self { connector: http_connector(CONNECT_TIMEOUT)?, timeout })
    }

    /// Sends a request. Its `host` is that of the URL, unless the headers have another one.
    pub(crate) async fn send<'a>(
        &self,
        method: &str,
        url: String,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: Vec<u8>,
    ) -> Result<Received> {
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method(method)?;
        request.set_uri(url.as_str()).with_context(|| format!("{url} is not a URL"))?;
        for (name, value) in headers {
            request.headers_mut().try_insert(name.to_owned(), value.to_owned())?;
        }
        let exchange = async {
            let mut response = self.connector.call(request).await?;
            let body = ByteStream::new(response.take_body()).collect().await?.to_vec();
            anyhow::Ok(Received { status: response.status().as_u16(), headers: response.headers().clone(), body })
        };
        let received = tokio::time::timeout(self.timeout, exchange).await;
        received.with_context(|| format!("no response within {} s", self.timeout.as_secs()))?
    }
}
