//! Accepts connections on the API's port, and has the gateway respond to their requests. Must not
//! know what a request means.
//!
//! This is not axum's server, because that drops a request when the client closes the connection
//! before the response. Chance would then decide whether the request is stored. API Gateway gives
//! such a request to the function.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::recorded_stream::RecordedStream;

/// How long the server waits after it could not accept a connection, as when this process has too
/// many files open.
const WAIT_AFTER_FAILURE: Duration = Duration::from_millis(100);

/// How long a server that ends waits for the responses to the requests under way.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How often [`Client::left`] looks at the connection.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The client at the other end of a connection.
#[derive(Clone)]
pub(crate) struct Client(Arc<std::net::TcpStream>);

impl Client {
    fn new(stream: &TcpStream) -> std::io::Result<Self> {
        let socket = stream.as_fd().try_clone_to_owned()?;
        Ok(Self(Arc::new(socket.into())))
    }

    /// Whether the client has closed its end of the connection. TCP does not say whether it still
    /// reads. A client that has left before its response may also have sent another request, and then
    /// this is false.
    pub(crate) fn has_left(&self) -> bool {
        match self.0.peek(&mut [0]) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// Ends when the client has closed its end of the connection.
    pub(crate) async fn left(&self) {
        while !self.has_left() {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}

/// What a client sent that the HTTP library refuses.
pub(super) struct RefusedHead {
    /// Its first bytes.
    pub(super) start: Vec<u8>,
    /// The sentence of the HTTP library.
    pub(super) error: String,
    pub(super) is_too_large: bool,
}

/// A running server.
pub(crate) struct Server {
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Server {
    /// Starts a server that has `respond` respond to the requests that arrive at `listener`, and
    /// tells `refused` what is no request.
    ///
    /// # Errors
    /// The runtime cannot watch the listener.
    pub(super) fn start<R, F, N, T>(listener: TcpListener, respond: R, refused: N) -> Result<Self>
    where
        R: Fn(Request, Client) -> F + Clone + Send + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
        N: Fn(RefusedHead) -> T + Clone + Send + 'static,
    {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let connections = GracefulShutdown::new();
            tokio::select! {
                () = accept(&listener, &connections, respond, refused) => {}
                _ = stopped => {}
            }
            drop(listener);
            connections.shutdown().await;
        });
        Ok(Self { stop, served })
    }

    /// Takes no further request, and waits until those under way have their responses, at most for
    /// [`GRACE`].
    pub(crate) async fn end(self) {
        let _ = self.stop.send(());
        let _ = tokio::time::timeout(GRACE, self.served).await;
    }
}

/// Accepts connections until its future is dropped. The requests of each connection are served in
/// a task of its own.
async fn accept<R, F, N, T>(
    listener: &tokio::net::TcpListener,
    connections: &GracefulShutdown,
    respond: R,
    refused: N,
) where
    R: Fn(Request, Client) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
    N: Fn(RefusedHead) -> T + Clone + Send + 'static,
{
    loop {
        let accepted = listener.accept().await;
        let connected = accepted.and_then(|(stream, _)| {
            let client = Client::new(&stream)?;
            Ok((stream, client))
        });
        let Ok((stream, client)) = connected else {
            tokio::time::sleep(WAIT_AFTER_FAILURE).await;
            continue;
        };
        // If this fails, responses are only a little later.
        let _ = stream.set_nodelay(true);
        let stream = RecordedStream::new(stream);
        let head = stream.head.clone();
        let respond = respond.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let response = respond(request.map(Body::new), client.clone());
            async move { Ok::<_, Infallible>(response.await) }
        });
        let connection = http1::Builder::new()
            // The request of a client that has left gets a response like any other.
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service);
        let connection = connections.watch(connection);
        let refused = refused.clone();
        tokio::spawn(async move {
            // Another error means that the client has left before its response.
            if let Err(error) = connection.await
                && error.is_parse()
            {
                refused(RefusedHead {
                    start: head.start(),
                    error: error.to_string(),
                    is_too_large: error.is_parse_too_large(),
                });
            }
        });
    }
}
