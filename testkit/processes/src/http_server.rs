//! An HTTP/1.1 server on loopback whose connections are kept, plain or over TLS. It responds to no page
//! of a browser. What responds to the requests may break a connection.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{CONTENT_LENGTH, HOST, HeaderName, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::file_limit;

/// Responds to requests, and is notified of connections.
pub trait Service: Send + Sync + 'static {
    /// The connection with this number, which counts from 1, was accepted, and its TLS handshake is
    /// done if there is one.
    fn connected(&self, _number: u64) {}

    /// A connection has ended.
    fn disconnected(&self) {}

    /// The client closed a connection before its TLS handshake was done.
    fn handshake_failed(&self) {}

    /// Responds to one request, which has its [`ConnectionNumber`] among its extensions. A response with
    /// a [`Break`] among its extensions ends the connection.
    fn respond(
        &self,
        request: Request<Bytes>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// The number of a request's connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionNumber(pub u64);

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
pub enum Break {
    /// It is reset, and nothing of the response is sent.
    Reset,
    /// It ends before the last byte of the response's body.
    BeforeLastByte,
}

/// A server on a free port of loopback, until it is stopped or dropped. Its connections end with it.
#[derive(Debug)]
pub struct HttpServer<S> {
    /// What responds to the requests.
    pub service: Arc<S>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
    /// Ends its thread when it is dropped, if it has one.
    _thread: Option<oneshot::Sender<()>>,
}

impl<S: Service> HttpServer<S> {
    /// Starts a server whose requests `service` responds to.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start(service: S, tls: Option<TlsAcceptor>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("loopback has no free port")?;
        Self::start_on(listener, service, tls)
    }

    /// As [`HttpServer::start`], in a thread of its own: for a caller that blocks while a client waits for an
    /// response.
    ///
    /// # Errors
    /// When loopback has no free port, or the thread cannot be started.
    pub fn start_in_thread(service: S) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .context("loopback has no free port")?;
        listener.set_nonblocking(true)?;
        let (end, ended) = oneshot::channel();
        let in_runtime = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let server = Self::serve_on(listener, service, None, Some(end))?;
        drop(in_runtime);
        std::thread::Builder::new().spawn(move || {
            // The sender is dropped with the server.
            let _ = runtime.block_on(ended);
        })?;
        Ok(server)
    }

    /// As [`HttpServer::start`], on a port that the caller has taken.
    ///
    /// # Errors
    /// When the port is unknown.
    pub fn start_on(listener: TcpListener, service: S, tls: Option<TlsAcceptor>) -> Result<Self> {
        Self::serve_on(listener, service, tls, None)
    }

    fn serve_on(
        listener: TcpListener,
        service: S,
        tls: Option<TlsAcceptor>,
        thread: Option<oneshot::Sender<()>>,
    ) -> Result<Self> {
        file_limit::raise();
        let service = Arc::new(service);
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept_all(listener, Arc::clone(&service), tls));
        Ok(Self {
            service,
            address,
            accepting,
            _thread: thread,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its endpoint without TLS, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends all connections.
    pub async fn stop(&mut self) {
        self.accepting.abort();
        if !self.accepting.is_finished() {
            let _ = (&mut self.accepting).await;
        }
    }
}

impl<S> Drop for HttpServer<S> {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept_all(listener: TcpListener, service: Arc<impl Service>, tls: Option<TlsAcceptor>) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // Small messages must not wait for the acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                number += 1;
                connections.spawn(accept(Arc::clone(&service), number, stream, tls.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves a connection after its TLS handshake, if there is one.
async fn accept(
    service: Arc<impl Service>,
    number: u64,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
) {
    let Some(tls) = tls else {
        if let Some(reset) = serve(service, number, stream).await {
            let _ = reset.set_zero_linger();
        }
        return;
    };
    match tls.accept(stream).await {
        Ok(stream) => drop(serve(service, number, stream).await),
        Err(_) => service.handshake_failed(),
    }
}

/// Serves a connection to its end. Returns its stream if it is to be reset.
async fn serve<S>(service: Arc<impl Service>, number: u64, stream: S) -> Option<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    service.connected(number);
    let answering = service_fn(|request| Box::pin(respond(&*service, number, request)));
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answering);
    let served = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    // Another error is a cut body, or a process that is stopped, which drops its connections.
    let is_to_be_reset =
        served.is_err_and(|error| error.is_user() && !error.is_body_write_aborted());
    let stream = connection.into_parts().io.into_inner();
    service.disconnected();
    is_to_be_reset.then_some(stream)
}

/// The response to a request. An error resets the connection.
async fn respond(
    service: &impl Service,
    number: u64,
    request: Request<Incoming>,
) -> io::Result<Response<Either<Full<Bytes>, CutBody>>> {
    let (mut parts, body) = request.into_parts();
    let has_origin = parts.headers.contains_key(ORIGIN);
    let host = parts
        .headers
        .get(HOST)
        .map(|host| String::from_utf8_lossy(host.as_bytes()));
    if is_foreign(has_origin, host.as_deref()) {
        return Ok(response(403, &[], "").map(Either::Left));
    }
    let Ok(collected) = body.collect().await else {
        // The client has ended the connection, or its process was killed.
        return Ok(response(400, &[], "the body did not arrive whole").map(Either::Left));
    };
    parts.extensions.insert(ConnectionNumber(number));
    let request = Request::from_parts(parts, collected.to_bytes());
    let response = service.respond(request).await;
    match response.extensions().get() {
        None => Ok(response.map(Either::Left)),
        Some(Break::Reset) => Err(io::ErrorKind::ConnectionReset.into()),
        Some(Break::BeforeLastByte) => Ok(cut(response).await.map(Either::Right)),
    }
}

/// Whether a request is not for this machine: a browser's page has sent it, or its `Host` is a name
/// that another machine chose to resolve to loopback. A page of any origin could otherwise read and
/// write what an emulator has.
fn is_foreign(has_origin: bool, host: Option<&str>) -> bool {
    let is_loopback = |host: &str| {
        let name = host.rsplit_once(':').map_or(host, |(name, _port)| name);
        ["127.0.0.1", "localhost"].contains(&name)
    };
    has_origin || host.is_some_and(|host| !is_loopback(host))
}

/// A body that ends before the length that its headers announce.
struct CutBody {
    bytes: Option<Bytes>,
    is_sent: bool,
}

/// A response that ends before the last byte of its body.
async fn cut(response: Response<Full<Bytes>>) -> Response<CutBody> {
    let (mut parts, body) = response.into_parts();
    let Ok(collected) = body.collect().await;
    let mut bytes = collected.to_bytes();
    parts.headers.insert(CONTENT_LENGTH, bytes.len().into());
    bytes.truncate(bytes.len().saturating_sub(1));
    let body = CutBody {
        bytes: Some(bytes),
        is_sent: false,
    };
    Response::from_parts(parts, body)
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(bytes) = self.bytes.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if self.is_sent {
            return Poll::Ready(None);
        }
        // hyper sends what it has while it waits for more. It drops what it has not sent when the
        // body ends early.
        self.is_sent = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
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
