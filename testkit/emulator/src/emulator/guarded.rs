//! dynoxide's server behind a guard. The server answers pages of every origin, and only a port can
//! be its listener. So it accepts the one connection over which the guard hands on what other
//! programs ask, and never another: whatever else finds its port is not answered. This module must
//! not know what is asked for.

use std::future::Future;
use std::net::Ipv4Addr;
use std::pin::Pin;

use anyhow::{Context as _, Error, Result, bail};
use dynoxide::Database;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING, UPGRADE};
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;
use processes::http_server::{Service, response};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};

/// Headers that are about one connection, so they are not handed on to the next one.
const CONNECTION_HEADERS: [hyper::header::HeaderName; 5] = [
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

/// An answer of the server.
struct EmulatorAnswer {
    response: Response<Full<Bytes>>,
    /// The bytes of its body once more, since those of the response cannot be read.
    body: Bytes,
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
    fn report_failure(&self, body: &Bytes) {
        let Some(failures) = &self.failures else {
            return;
        };
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = body.get("message").or(body.get("Message"));
        let message = message.and_then(Value::as_str).unwrap_or_default();
        // The program may have stopped listening.
        let _ = failures.send(message.to_owned());
    }

    async fn hand_on(&self, request: Request<Bytes>) -> Result<EmulatorAnswer> {
        let mut kept = self.upstream.lock().await;
        let mut upstream = match kept.take() {
            Some(upstream) if !upstream.requests.is_closed() => upstream,
            _ => Upstream::open(&self.database).await?,
        };
        let answer = ask(&mut upstream.requests, request).await?;
        // A connection that has failed does not come here, and is not kept.
        *kept = Some(upstream);
        Ok(answer)
    }
}

impl Service for Guarded {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        if request.body().len() > MAX_BODY_BYTES {
            return response(413, &[], "");
        }
        let answer = match self.hand_on(request).await {
            Ok(answer) => answer,
            Err(error) => EmulatorAnswer::server_failed(&error),
        };
        if answer.response.status().is_server_error() {
            self.report_failure(&answer.body);
        }
        answer.response
    }
}

impl EmulatorAnswer {
    fn server_failed(error: &Error) -> Self {
        let body = json!({"message": format!("{error:#}")}).to_string();
        Self {
            response: response(500, &[], body.clone()),
            body: body.into(),
        }
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
}

async fn ask(
    requests: &mut SendRequest<Full<Bytes>>,
    request: Request<Bytes>,
) -> Result<EmulatorAnswer> {
    let mut request = request.map(Full::new);
    *request.version_mut() = Version::HTTP_11;
    for name in CONNECTION_HEADERS {
        request.headers_mut().remove(name);
    }
    requests.ready().await?;
    let response = requests.send_request(request).await?;
    let (mut head, body) = response.into_parts();
    let body = body
        .collect()
        .await
        .context("the answer of the emulator cannot be read")?
        .to_bytes();
    head.headers.remove(CONNECTION);
    Ok(EmulatorAnswer {
        response: Response::from_parts(head, Full::new(body.clone())),
        body,
    })
}
