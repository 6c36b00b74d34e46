//! HTTP/1.1 over TLS for the SDK: what DynamoDB speaks, and nothing beside it.
//!
//! The SDK's own client also carries HTTP/2, proxies and the system's authorities, a seventh of the whole binary that a cold
//! start has to load. Pooling, HTTP and TLS are hyper's and rustls' here as there; what is ours is how they are put
//! together, and when the connections at hand are not to be trusted any more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{
    HttpConnector as SdkConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, HttpConnector, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

/// How long a connection may lie idle. DynamoDB's end, and what is between, keep one for longer.
const IDLE: Duration = Duration::from_mins(1);

type Pool = Client<HttpsConnector<HttpConnector>, SdkBody>;

/// A client that believes what `tls` believes, and waits so long for a connection. Its clones share their connections.
pub(super) fn client(tls: ClientConfig, connect_within: Duration) -> SharedHttpClient {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_within));
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
    let connector = SharedHttpConnector::new(PooledConnector {
        pool: Arc::new(Mutex::new(new_pool(connector.clone()))),
        connector,
    });
    http_client_fn(move |_, _| connector.clone())
}

fn new_pool(connector: HttpsConnector<HttpConnector>) -> Pool {
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).build(connector)
}

/// The connections of a process. One that is given up unanswered is a sign that it, and so its idle siblings too, died
/// unheard while the environment was frozen: then all of them are left behind. Otherwise each attempt of a call might
/// meet another dead one, until there is no time for a new one.
#[derive(Clone, Debug)]
struct PooledConnector {
    connector: HttpsConnector<HttpConnector>,
    pool: Arc<Mutex<Pool>>,
}

impl SdkConnector for PooledConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let connection = capture_connection(&mut request);
        if let Some(capture) = request.extensions().get::<CaptureSmithyConnection>() {
            capture.set_connection_retriever(move || metadata(&connection));
        }
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reset_pool = ResetPoolOnDrop(Some(self.clone()));
        HttpConnectorFuture::new(async move {
            let answer = pool.request(request).await;
            reset_pool.answered();
            // Whatever failed between here and there may work the next time, and no call of this service does harm twice.
            let answer = answer.map_err(|error| ConnectorError::io(error.into()))?;
            HttpResponse::try_from(answer.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// A call whose answer is awaited. The SDK drops it when it has waited long enough.
struct ResetPoolOnDrop(Option<PooledConnector>);

impl ResetPoolOnDrop {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for ResetPoolOnDrop {
    fn drop(&mut self) {
        if let Some(PooledConnector { connector, pool }) = self.0.take() {
            *pool.lock().unwrap_or_else(PoisonError::into_inner) = new_pool(connector);
        }
    }
}

/// By which the SDK has a connection closed that brought a 500 or a 503: the next attempt meets another server.
fn metadata(connection: &CaptureConnection) -> Option<ConnectionMetadata> {
    connection.connection_metadata().is_some().then(|| {
        let connection = connection.clone();
        let poison = move || {
            if let Some(connected) = connection.connection_metadata().as_ref() {
                connected.poison();
            }
        };
        ConnectionMetadata::builder().proxied(false).poison_fn(poison).build()
    })
}
