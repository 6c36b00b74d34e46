//! A DynamoDB that fails on purpose: a proxy between the functions and the emulator, for tests and
//! `cargo dev --faults`.
//!
//! It knows of a call only its operation and its bytes, and does to some calls what a [`Plan`] says.
//! This module must not know whether a function gets over a fault.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | `fault`, `plan` | the ways in which a call fails; which calls have which fault | how a fault is carried out |
//! | `answer` | answers in DynamoDB's place | why a call has them |

mod answer;
mod fault;
mod plan;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::TRANSFER_ENCODING;
use hyper::http::uri::{Authority, PathAndQuery};
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use processes::http_server::{Break, ConnectionNumber, HttpServer, Service, response};
use tokio::sync::watch;
use tokio::time::sleep;

use self::answer::{all_unprocessed, json_answer, refusal};
pub use self::fault::Fault;
pub use self::plan::{Plan, Rule};

/// The message of a call that is refused.
const ON_PURPOSE: &str = "on purpose";

/// The message of a call whose signature has an old time.
const SIGNATURE_EXPIRED: &str =
    "Signature expired: 20261120T221640Z is now earlier than 20261120T222140Z";

/// The proxy, on a port of its own, until it is dropped.
#[derive(Debug)]
pub struct FaultProxy(HttpServer<Proxy>);

/// The calls that passed a proxy so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls by operation (`PutItem`), each attempt counted, whatever came of it.
    pub operations: BTreeMap<String, u64>,
    /// How many of them were faulted.
    pub faulted: u64,
    /// Calls on a connection on which an earlier call was faulted.
    pub after_a_fault: u64,
}

#[derive(Debug)]
struct Proxy {
    upstream: Authority,
    client: Client<HttpConnector, Full<Bytes>>,
    state: Mutex<ProxyState>,
    /// Connections that are open, and calls that are under way.
    busy: Arc<watch::Sender<usize>>,
}

#[derive(Debug)]
struct ProxyState {
    plan: Plan,
    /// The newest connection.
    accepted: u64,
    /// The newest connection whose calls hang.
    frozen: u64,
    /// The connections on which a call was faulted.
    faulted: HashSet<u64>,
    counts: CallCounts,
}

impl FaultProxy {
    /// Starts a proxy before `upstream`, an URL such as `http://127.0.0.1:8000`, that fails as
    /// `plan` says.
    ///
    /// # Errors
    /// `upstream` is not such an URL, or loopback has no free port.
    pub async fn start(upstream: &str, plan: impl Into<Plan>) -> Result<Self> {
        let upstream: Uri = upstream.parse()?;
        let upstream = upstream.into_parts().authority;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let proxy = Proxy {
            upstream: upstream.context("the URL has no port")?,
            client: Client::builder(TokioExecutor::new()).build(connector),
            state: Mutex::new(ProxyState {
                plan: plan.into(),
                accepted: 0,
                frozen: 0,
                faulted: HashSet::new(),
                counts: CallCounts::default(),
            }),
            busy: Arc::new(watch::Sender::new(0)),
        };
        HttpServer::start(proxy, None).await.map(Self)
    }

    /// The URL to give to an SDK instead of the emulator's.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Fails as `plan` says from the next call on; what was counted stays.
    pub fn set(&self, plan: impl Into<Plan>) {
        self.state().plan = plan.into();
    }

    /// Answers nothing any more on the connections that there are, as if the client had been frozen
    /// for so long that what is between forgot them. New ones are served.
    pub fn forget_connections(&self) {
        let mut state = self.state();
        state.frozen = state.accepted;
    }

    /// The calls that passed the proxy so far.
    pub fn counts(&self) -> CallCounts {
        self.state().counts.clone()
    }

    /// Waits until no connection is open and no call under way: then nothing that a killed process
    /// sent is still on its way.
    pub async fn idle(&self) {
        let mut busy = self.0.service.busy.subscribe();
        // Waiting cannot fail, because the sender is in `self`.
        let _ = busy.wait_for(|busy| *busy == 0).await;
    }

    fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.0.service.state()
    }
}

impl CallCounts {
    /// Calls of one operation.
    pub fn calls_of(&self, operation: &str) -> u64 {
        self.operations.get(operation).copied().unwrap_or_default()
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.operations.values().sum()
    }
}

impl Service for Proxy {
    fn connected(&self, number: u64) {
        self.state().accepted = number;
        self.busy.send_modify(|busy| *busy += 1);
    }

    fn disconnected(&self) {
        self.busy.send_modify(|busy| *busy -= 1);
    }

    async fn answer(&self, call: Request<Bytes>) -> Response<Full<Bytes>> {
        let fault = self.state().decide(&call);
        let Some(fault) = fault else {
            return self.hand_on(call).await;
        };
        match fault {
            Fault::ResetBefore => broken(),
            Fault::ResetAfter => {
                self.hand_on(call).await;
                broken()
            }
            Fault::ErrorAfter => {
                self.hand_on(call).await;
                server_error()
            }
            Fault::CutBody => {
                let mut answer = self.hand_on(call).await;
                answer.extensions_mut().insert(Break::BeforeLastByte);
                answer
            }
            Fault::AnswerReplaced(body) => {
                self.hand_on(call).await;
                response(200, &[], body)
            }
            Fault::Slow(delay) => {
                let answer = self.hand_on(call).await;
                sleep(delay).await;
                answer
            }
            // As long as the caller waits.
            Fault::Hanging => std::future::pending().await,
            Fault::Swallowed(delay) => {
                sleep(delay).await;
                json_answer(200, "{\"UnprocessedItems\":{}}")
            }
            Fault::Unprocessed => all_unprocessed(call.body()),
            Fault::Refused(code) => refusal(400, code, ON_PURPOSE),
            Fault::InternalServerError => server_error(),
            Fault::Status(status) => response(status, &[], ""),
            Fault::SignatureExpired => refusal(400, "InvalidSignatureException", SIGNATURE_EXPIRED),
        }
    }
}

impl Proxy {
    fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// DynamoDB's answer to a call. When DynamoDB cannot be reached, the connection is reset.
    async fn hand_on(&self, call: Request<Bytes>) -> Response<Full<Bytes>> {
        let mut call = call.map(Full::new);
        *call.uri_mut() = self.uri(call.uri());
        let (client, busy) = (self.client.clone(), Arc::clone(&self.busy));
        busy.send_modify(|busy| *busy += 1);
        // A task of its own: a call takes effect although its caller gives up or is killed.
        let calling = tokio::spawn(async move {
            let answer = answer_of(&client, call).await;
            busy.send_modify(|busy| *busy -= 1);
            answer
        });
        match calling.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => broken(),
        }
    }

    /// Where DynamoDB gets a call for this URI.
    fn uri(&self, uri: &Uri) -> Uri {
        Uri::builder()
            .scheme("http")
            .authority(self.upstream.clone())
            .path_and_query(uri.path_and_query().map_or("/", PathAndQuery::as_str))
            .build()
            .expect("a path of a URI makes another URI")
    }
}

async fn answer_of(
    client: &Client<HttpConnector, Full<Bytes>>,
    call: Request<Full<Bytes>>,
) -> Result<Response<Full<Bytes>>> {
    let (mut head, body) = client.request(call).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    // What was sent in chunks is sent on as a whole.
    head.headers.remove(TRANSFER_ENCODING);
    Ok(Response::from_parts(head, Full::new(body)))
}

/// What DynamoDB answers when it fails.
fn server_error() -> Response<Full<Bytes>> {
    refusal(500, "InternalServerError", ON_PURPOSE)
}

/// The end of a connection in place of an answer.
fn broken() -> Response<Full<Bytes>> {
    let mut reset = response(500, &[], "");
    reset.extensions_mut().insert(Break::Reset);
    reset
}

impl ProxyState {
    /// Counts a call, and chooses its fault.
    fn decide(&mut self, call: &Request<Bytes>) -> Option<Fault> {
        let connection = call
            .extensions()
            .get()
            .map_or(0, |ConnectionNumber(number)| *number);
        let operation = operation(call);
        let calls = self.counts.operations.entry(operation.to_owned());
        *calls.or_default() += 1;
        let fault = if connection <= self.frozen {
            Some(Fault::Hanging)
        } else {
            self.plan.decide(operation, call.body())
        };
        if self.faulted.contains(&connection) {
            self.counts.after_a_fault += 1;
        }
        if fault.is_some() {
            self.counts.faulted += 1;
            self.faulted.insert(connection);
        }
        fault
    }
}

/// What is called, such as `PutItem`.
fn operation(call: &Request<Bytes>) -> &str {
    let target = call.headers().get("x-amz-target");
    target
        .and_then(|target| target.to_str().ok()?.rsplit('.').next())
        .unwrap_or_default()
}
