//! Lambda's Runtime API for one process: gives it events, takes its responses, and holds its
//! request for the next event while there is none.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, Response};
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot, watch};

use crate::http_server::{HttpServer, Service, response};

/// The events of one function, for whichever of its processes asks first.
#[derive(Clone, Debug)]
pub struct EventQueue {
    sender: mpsc::UnboundedSender<Event>,
    receiver: Arc<AsyncMutex<mpsc::UnboundedReceiver<Event>>>,
    sent: Arc<AtomicU64>,
    errors: Arc<AtomicU64>,
}

/// An event that waits for a process.
#[derive(Debug)]
struct Event {
    id: String,
    body: Bytes,
    /// Tells the caller what came of it. The caller learns that there is no response when this is
    /// dropped.
    invocation: oneshot::Sender<Invocation>,
}

/// What came of an event.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The response as API Gateway gets it, or the error in which the invocation ended.
    pub response: Bytes,
    /// From giving the event to the process to the last byte of its response.
    pub duration: Duration,
    /// The number of the process that served it, from its options.
    pub process_number: u64,
}

impl Invocation {
    /// The response, or null when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.response).unwrap_or_default()
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver: Arc::new(AsyncMutex::new(receiver)),
            sent: Arc::default(),
            errors: Arc::default(),
        }
    }
}

impl EventQueue {
    /// Waits until a process has responded to this event; `None` when the process ended first.
    pub async fn invoke(&self, event: Bytes) -> Option<Invocation> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let (invocation, responded) = oneshot::channel();
        // Ids follow each other, so that an instruction count does not depend on chance.
        let id = format!("{number:08}-0000-4000-8000-000000000000");
        let event = Event {
            id,
            body: event,
            invocation,
        };
        self.sender.send(event).ok()?;
        responded.await.ok()
    }

    /// How many invocations ended in an error, in all processes.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    fn count_error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the next event, as a process does.
    async fn next(&self) -> Option<Event> {
        let mut receiver = self.receiver.lock().await;
        receiver.recv().await
    }
}

/// The API of one process, on loopback, until it is dropped.
#[derive(Debug)]
pub struct RuntimeApi(HttpServer<RuntimeApiState>);

#[derive(Debug)]
struct RuntimeApiState {
    events: EventQueue,
    process_number: u64,
    timeout: Duration,
    /// The invocations that the process has not responded to yet, by their ids.
    open: Mutex<HashMap<String, OpenInvocation>>,
    /// Requests for the next event that wait for one.
    waiting: watch::Sender<u64>,
}

/// An invocation without a response.
#[derive(Debug)]
struct OpenInvocation {
    began: Instant,
    invocation: oneshot::Sender<Invocation>,
}

impl RuntimeApi {
    /// Starts one that gives the process with this number its events, each with the timeout of the
    /// function.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start(events: EventQueue, process_number: u64, timeout: Duration) -> Result<Self> {
        let state = RuntimeApiState {
            events,
            process_number,
            timeout,
            open: Mutex::default(),
            waiting: watch::Sender::new(0),
        };
        let server = HttpServer::start(state, None).await?;
        Ok(Self(server))
    }

    /// Where it listens: the value of `AWS_LAMBDA_RUNTIME_API`.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Waits until the process waits for an event.
    ///
    /// # Errors
    /// When the Runtime API has been dropped.
    pub async fn idle(&self) -> Result<()> {
        let mut waiting = self.0.service.waiting.subscribe();
        waiting
            .wait_for(|waiting| *waiting > 0)
            .await
            .context("the Runtime API is gone")?;
        Ok(())
    }

    /// Closes all connections: no event is given out any more. Callers wait on, until this is
    /// dropped.
    pub async fn stop(&mut self) {
        self.0.stop().await;
    }
}

impl RuntimeApiState {
    fn open(&self) -> MutexGuard<'_, HashMap<String, OpenInvocation>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn next(&self) -> Response<Full<Bytes>> {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let event = self.events.next().await;
        self.waiting.send_modify(|waiting| *waiting -= 1);
        let Some(event) = event else {
            return response(410, &[], "");
        };
        let open = OpenInvocation {
            began: Instant::now(),
            invocation: event.invocation,
        };
        self.open().insert(event.id.clone(), open);
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let deadline_ms = (now + self.timeout).as_millis().to_string();
        let headers = [
            ("content-type", "application/json"),
            ("lambda-runtime-aws-request-id", event.id.as_str()),
            ("lambda-runtime-deadline-ms", deadline_ms.as_str()),
            (
                "lambda-runtime-invoked-function-arn",
                "arn:aws:lambda:eu-central-1:123456789012:function:tests",
            ),
            (
                "lambda-runtime-trace-id",
                "Root=1-6741e0f0-0123456789abcdef01234567;Parent=0123456789abcdef;Sampled=0",
            ),
        ];
        response(200, &headers, event.body)
    }

    fn respond(&self, id: &str, response: Bytes) {
        let open = self.open().remove(id);
        let Some(OpenInvocation { began, invocation }) = open else {
            return;
        };
        // The caller may no longer wait.
        let _ = invocation.send(Invocation {
            response,
            duration: began.elapsed(),
            process_number: self.process_number,
        });
    }
}

impl Service for RuntimeApiState {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let path = parts
            .uri
            .path()
            .strip_prefix("/2018-06-01/runtime/")
            .unwrap_or_default();
        let steps: Vec<&str> = path.split('/').collect();
        match (&parts.method, steps.as_slice()) {
            (&Method::GET, ["invocation", "next"]) => return self.next().await,
            (&Method::POST, ["invocation", id, "response"]) => self.respond(id, body),
            (&Method::POST, ["invocation", id, "error"]) => {
                self.events.count_error();
                self.respond(id, body);
            }
            // The process ends after it has reported this error.
            (&Method::POST, ["init", "error"]) => self.events.count_error(),
            _ => return response(404, &[], ""),
        }
        response(202, &[], "")
    }
}
