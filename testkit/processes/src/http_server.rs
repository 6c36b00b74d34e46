//! An HTTP/1.1 server on loopback whose connections are kept, plain or over TLS. It answers no page
//! of a browser.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::loopback::{LoopbackServer, is_foreign};
use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Responds to requests, and is notified of connections.
pub trait Service: Send + Sync + 'static {
    /// A connection was accepted, and its TLS handshake is done if there is one.
    fn connected(&self) {}

    /// The client closed a connection before its TLS handshake was done.
    fn handshake_failed(&self) {}

    /// Answers one request.
    fn answer(&self, request: Request<Bytes>)
    -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// A server on a free port of loopback, until it is stopped or dropped.
#[derive(Debug)]
pub struct HttpServer<S> {
    /// What answers the requests.
    pub service: Arc<S>,
    server: LoopbackServer,
}

impl<S: Service> HttpServer<S> {
    /// Starts a server whose requests `service` answers.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start(service: S, tls: Option<TlsAcceptor>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("loopback has no free port")?;
        Self::start_on(listener, service, tls)
    }

    /// As [`HttpServer::start`], on a port that the caller has taken.
    ///
    /// # Errors
    /// When the port is unknown.
    pub fn start_on(listener: TcpListener, service: S, tls: Option<TlsAcceptor>) -> Result<Self> {
        let service = Arc::new(service);
        let answering = Arc::clone(&service);
        let serve = move |stream| accept(Arc::clone(&answering), stream, tls.clone());
        let server = LoopbackServer::start_on(listener, serve)?;
        Ok(Self { service, server })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Its endpoint without TLS, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Closes all connections.
    pub async fn stop(&mut self) {
        self.server.stop().await;
    }
}

/// Serves a connection after its TLS handshake, if there is one.
async fn accept(service: Arc<impl Service>, stream: TcpStream, tls: Option<TlsAcceptor>) {
    let Some(tls) = tls else {
        return serve(service, stream).await;
    };
    match tls.accept(stream).await {
        Ok(stream) => serve(service, stream).await,
        Err(_) => service.handshake_failed(),
    }
}

async fn serve(
    service: Arc<impl Service>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    service.connected();
    let answering = service_fn(move |request: Request<Incoming>| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(answer(&*service, request).await) }
    });
    // A process that is stopped drops its connections.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answering)
        .await;
}

async fn answer(service: &impl Service, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let has_origin = parts.headers.contains_key(ORIGIN);
    let host = parts
        .headers
        .get(HOST)
        .map(|host| String::from_utf8_lossy(host.as_bytes()));
    if is_foreign(has_origin, host.as_deref()) {
        return response(403, &[], "");
    }
    let Ok(collected) = body.collect().await else {
        // The client has ended the connection, or its process was killed.
        return response(400, &[], "the body did not arrive whole");
    };
    let request = Request::from_parts(parts, collected.to_bytes());
    service.answer(request).await
}

/// A response with these headers. A header whose name or value HTTP does not allow is left out.
pub fn response(
    status: u16,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() =
        StatusCode::from_u16(status).expect("the callers name statuses of HTTP");
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
