//! The HTTP client. It replaces `aws-smithy-http-client`, with which the binary would be 1 MB
//! larger and each start would take 0.2 million instructions more.
//!
//! The SDK's client also links HTTP/2, proxies and the system's certificate authorities. This one
//! is HTTP/1.1 over TLS, which is enough for the services that the functions call, from the same
//! parts: hyper and rustls. It also abandons its idle connections when one of them does not
//! respond.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector as SdkConnector, HttpConnectorFuture, SharedHttpClient,
    http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, HttpConnector, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::time::timeout;

/// What makes the calls of a process: the SDK's seam for HTTP.
pub use aws_smithy_runtime_api::client::http::SharedHttpConnector;

/// How long a connection stays open while it is idle. DynamoDB and the load balancers before it close it later.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// How many bytes of a request are sent in a microsecond, at least. A function with little memory has a slow
/// connection, and the response follows the last byte.
const BYTES_PER_MICROSECOND: u64 = 10;

type Pool = Client<HttpsConnector<HttpConnector>, SdkBody>;

/// An HTTP client with these connections, for services that speak JSON. Its clones share them.
pub(super) fn client(connections: SharedHttpConnector) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(JsonConnector(connections));
    http_client_fn(move |_, _| connector.clone())
}

/// The same client, for services that speak JSON: a 200 with an empty body is an error.
pub fn refuse_empty_responses(client: SharedHttpClient) -> SharedHttpClient {
    http_client_fn(move |settings, components| {
        let connections = client.http_connector(settings, components);
        SharedHttpConnector::new(JsonConnector(connections))
    })
}

/// Turns a 200 with an empty body into an error. An empty body is not JSON, but the SDK would read
/// it as `{}`, and so take an item for missing, or for written. The caller makes the call again, on
/// another connection.
#[derive(Debug)]
struct JsonConnector(SharedHttpConnector);

impl SdkConnector for JsonConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connection = request.extension::<CaptureSmithyConnection>().cloned();
        let response = self.0.call(request);
        HttpConnectorFuture::new(async move {
            let mut response = response.await?;
            if response.status().as_u16() == 200 {
                let body = ByteStream::new(response.take_body()).collect().await;
                let body = body
                    .map_err(|error| ConnectorError::io(error.into()))?
                    .into_bytes();
                if body.is_empty() {
                    // The SDK closes a connection only after a response, and this call ends in an
                    // error.
                    if let Some(connection) = connection.and_then(|connection| connection.get()) {
                        connection.poison();
                    }
                    return Err(ConnectorError::io("a response without a body".into()));
                }
                *response.body_mut() = SdkBody::from(body);
                // Lets hyper return the connection to its pool before the next call needs one.
                tokio::task::yield_now().await;
            }
            Ok(response)
        })
    }
}

/// Makes the connections to a service, and waits at most `connect_timeout` for each. They count as lost
/// when a call has no response `unresponsive_timeout` after its request was sent.
pub(super) fn connector(
    tls: ClientConfig,
    connect_timeout: Duration,
    unresponsive_timeout: Duration,
) -> SharedHttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_timeout));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    SharedHttpConnector::new(PooledConnector {
        pool: Arc::new(Mutex::new(new_pool(connector.clone()))),
        connector,
        unresponsive_timeout,
    })
}

fn new_pool(connector: HttpsConnector<HttpConnector>) -> Arc<Pool> {
    let mut pool = Client::builder(TokioExecutor::new());
    Arc::new(
        pool.pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector),
    )
}

/// The connections of a process to a service. A connection without a response in time was probably lost while
/// Lambda had frozen the environment, and so were the other idle ones. Later calls then use a new
/// pool. Otherwise each of them might wait on another lost connection until the deadline
/// of its request.
#[derive(Clone, Debug)]
struct PooledConnector {
    connector: HttpsConnector<HttpConnector>,
    pool: Arc<Mutex<Arc<Pool>>>,
    unresponsive_timeout: Duration,
}

impl PooledConnector {
    fn pool(&self) -> Arc<Pool> {
        self.pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Lets later calls use new connections. The first of several calls without a response on `lost`
    /// replaces it for all.
    fn replace(&self, lost: &Arc<Pool>) {
        let mut current = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, lost) {
            *current = new_pool(self.connector.clone());
        }
    }
}

impl SdkConnector for PooledConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => {
                return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into())));
            }
        };
        let connection = capture_connection(&mut request);
        if let Some(capture) = request.extensions().get::<CaptureSmithyConnection>() {
            capture.set_connection_retriever(move || connection_to_close(&connection));
        }
        let connector = self.clone();
        let bytes = request.body().content_length().unwrap_or_default();
        let upload = Duration::from_micros(bytes / BYTES_PER_MICROSECOND);
        let unresponsive_timeout = self.unresponsive_timeout.saturating_add(upload);
        HttpConnectorFuture::new(async move {
            let pool = connector.pool();
            let mut pending = pool.request(request);
            let response = if let Ok(response) = timeout(unresponsive_timeout, &mut pending).await {
                response
            } else {
                connector.replace(&pool);
                pending.await
            };
            // The caller may retry, because every call of this service may take effect twice.
            let response = response.map_err(|error| ConnectorError::io(error.into()))?;
            HttpResponse::try_from(response.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// What lets the SDK close a connection after a 500 or a 503, so that the next attempt reaches
/// another server. `None` while there is no connection.
fn connection_to_close(connection: &CaptureConnection) -> Option<ConnectionMetadata> {
    if connection.connection_metadata().is_none() {
        return None;
    }
    let connection = connection.clone();
    let poison = move || {
        if let Some(connected) = connection.connection_metadata().as_ref() {
            connected.poison();
        }
    };
    let metadata = ConnectionMetadata::builder()
        .proxied(false)
        .poison_fn(poison)
        .build();
    Some(metadata)
}
