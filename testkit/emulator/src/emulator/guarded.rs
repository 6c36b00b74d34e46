//! dynoxide's server behind a guard. The server answers pages of every origin, and only a port can
//! be its listener. So it accepts the one connection over which the guard hands on what other
//! programs ask, and never another: whatever else finds its port is not answered. Must not know
//! what is asked for.

use std::future::Future;
use std::net::Ipv4Addr;
use std::pin::Pin;

use anyhow::{Context as _, Result, bail};
use dynoxide::Database;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING, UPGRADE};
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;
use sandbox::http_server::{Service, response};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};

/// Headers of one connection, which say nothing of the next one.
const OF_A_CONNECTION: [hyper::header::HeaderName; 5] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The largest body that DynamoDB takes, in bytes. The server would close the connection.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Gets the message of each answer that says that the emulator failed.
pub(super) type Failures = mpsc::UnboundedSender<String>;

/// Hands requests on. One connection is enough: the database does one operation at a time.
pub(super) struct Guarded {
    database: Database,
    failures: Option<Failures>,
    upstream: Mutex<Option<Upstream>>,
}

/// The connection to the server.
struct Upstream {
    requests: SendRequest<Full<Bytes>>,
    /// It would accept more connections if it ran: it is kept, and not polled.
    _server: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Guarded {
    pub(super) fn new(database: Database, failures: Option<Failures>) -> Self {
        Self {
            database,
            failures,
            upstream: Mutex::new(None),
        }
    }

    /// Waits until nothing is under way.
    pub(super) async fn idle(&self) {
        drop(self.upstream.lock().await);
    }

    /// Hands the message of an answer to the program that started the emulator. A function only
    /// learns that DynamoDB failed.
    fn tell(&self, answer: &Bytes) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let message = answer.get("message").or(answer.get("Message"));
        let message = message.and_then(Value::as_str).unwrap_or_default();
        if let Some(failures) = &self.failures {
            // One that has gone misses nothing.
            let _ = failures.send(message.to_owned());
        }
    }

    async fn hand_on(&self, request: Request<Bytes>) -> Result<(Response<Full<Bytes>>, Bytes)> {
        let mut upstream = self.upstream.lock().await;
        let open = upstream
            .take()
            .filter(|upstream| !upstream.requests.is_closed());
        let mut open = match open {
            Some(open) => open,
            None => Upstream::open(&self.database).await?,
        };
        let answer = open.ask(request).await?;
        // A connection that has failed is not kept.
        *upstream = Some(open);
        Ok(answer)
    }
}

impl Service for Guarded {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        if request.body().len() > MAX_BODY_BYTES {
            return response(413, &[], "");
        }
        let (answer, body) = match self.hand_on(request).await {
            Ok(answer) => answer,
            Err(error) => {
                let why = json!({"message": format!("{error:#}")}).to_string();
                (response(500, &[], why.clone()), why.into())
            }
        };
        if answer.status().is_server_error() {
            self.tell(&body);
        }
        answer
    }
}

impl Upstream {
    /// Starts a server, and has it accept connections until it has answered on this one.
    async fn open(database: &Database) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        stream.set_nodelay(true)?;
        let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let mut server: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(dynoxide::server::serve_on(listener, database.clone()));
        let greeting = ask(&mut requests, Request::new(Bytes::new()));
        tokio::select! {
            answer = greeting => drop(answer?),
            () = &mut server => bail!("the emulator's server has ended"),
        }
        Ok(Self {
            requests,
            _server: server,
        })
    }

    async fn ask(&mut self, request: Request<Bytes>) -> Result<(Response<Full<Bytes>>, Bytes)> {
        ask(&mut self.requests, request).await
    }
}

async fn ask(
    requests: &mut SendRequest<Full<Bytes>>,
    request: Request<Bytes>,
) -> Result<(Response<Full<Bytes>>, Bytes)> {
    let mut request = request.map(Full::new);
    *request.version_mut() = Version::HTTP_11;
    for name in OF_A_CONNECTION {
        request.headers_mut().remove(name);
    }
    requests.ready().await?;
    let (mut head, body) = requests.send_request(request).await?.into_parts();
    let body = body
        .collect()
        .await
        .context("the answer of the emulator cannot be read")?
        .to_bytes();
    head.headers.remove(CONNECTION);
    let answer = Response::from_parts(head, Full::new(body.clone()));
    Ok((answer, body))
}
