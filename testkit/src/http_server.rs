//! HTTP/1.1 with connections that are kept, plain or over TLS.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What answers requests, and hears of connections.
pub trait Service: Send + Sync + 'static {
    /// A connection was accepted, and where there is TLS its handshake is done.
    fn connected(&self) {}

    /// A connection was accepted, and given up before its handshake was done.
    fn given_up(&self) {}

    /// Answers one request.
    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// A server on a free port of loopback, until it is dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts to answer by `service`.
    ///
    /// # Errors
    /// When loopback has no port to give.
    pub async fn start(service: Arc<impl Service>, tls: Option<TlsAcceptor>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port of loopback can be had")?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // An answer is one packet or a few: none of them shall wait for the acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                let (service, tls) = (Arc::clone(&service), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(service, stream).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => serve(service, stream).await,
                            Err(_) => service.given_up(),
                        },
                    }
                });
            }
        });
        Ok(Self { address, accepting })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(service: Arc<impl Service>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    service.connected();
    let answer = service_fn(move |request: Request<Incoming>| {
        let service = Arc::clone(&service);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            Ok::<_, Infallible>(service.answer(Request::from_parts(parts, body)).await)
        }
    });
    // A function that is stopped drops its connections.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}
