//! A server that responds late.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use harness::http_server::{HttpServer, Service, response};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};

/// A server on loopback, until it is dropped.
pub(crate) struct SlowServer(HttpServer<SlowService>);

struct SlowService {
    delay: Duration,
    body: &'static str,
    connections: AtomicU64,
}

impl SlowServer {
    /// A server that responds to each request after `delay` with a 200 with this body.
    pub(crate) async fn start(delay: Duration, body: &'static str) -> Self {
        let service = SlowService {
            delay,
            body,
            connections: AtomicU64::new(0),
        };
        Self(HttpServer::start(service, None).await.unwrap())
    }

    /// The endpoint, as the SDK takes it.
    pub(crate) fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// How many connections clients have opened.
    pub(crate) fn connections(&self) -> u64 {
        self.0.service.connections.load(Ordering::Relaxed)
    }
}

impl Service for SlowService {
    fn connected(&self, _number: u64) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    async fn respond(&self, _request: Request<Bytes>) -> Response<Full<Bytes>> {
        tokio::time::sleep(self.delay).await;
        response(200, &[], self.body.to_owned())
    }
}
