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
pub(crate) struct HttpClient(SharedHttpConnector);

/// A response with its whole body.
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    pub(crate) fn new(connect_timeout: Duration) -> Result<Self> {
        Ok(Self(http_connector(connect_timeout)?))
    }

    pub(crate) async fn send(&self, request: HttpRequest, timeout: Duration) -> Result<Received> {
        let exchange = async {
            let mut response = self.0.call(request).await?;
            let body = ByteStream::new(response.take_body()).collect().await?.to_vec();
            anyhow::Ok(Received { status: response.status().as_u16(), headers: response.headers().clone(), body })
        };
        let received = tokio::time::timeout(timeout, exchange).await;
        received.with_context(|| format!("no response within {} s", timeout.as_secs()))?
    }
}

/// A request. Its `host` is that of the URL, unless the headers have another one.
pub(crate) fn request<'a>(
    method: &str,
    url: String,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    body: Vec<u8>,
) -> Result<HttpRequest> {
    let mut request = HttpRequest::new(SdkBody::from(body));
    request.set_method(method)?;
    request.set_uri(url)?;
    for (name, value) in headers {
        request.headers_mut().try_insert(name.to_owned(), value.to_owned())?;
    }
    Ok(request)
}
