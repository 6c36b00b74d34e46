//! Lambda's Runtime API: hands out events, takes answers, and holds `/next` open while there is nothing to do.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot, watch};

use crate::http_server::{Server, Service};

/// What a function is given for one event. Under callgrind it is some fifty times slower.
const DEADLINE: Duration = Duration::from_mins(10);

/// The API, on loopback, until it is dropped.
#[derive(Debug)]
pub struct RuntimeApi {
    state: Arc<State>,
    server: Server,
    events: mpsc::UnboundedSender<Event>,
}

/// What a function made of an event.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The response as API Gateway would get it.
    pub body: Bytes,
    /// From handing out the event to the last byte of the answer.
    pub took: Duration,
}

#[derive(Debug)]
struct Event {
    id: String,
    body: Bytes,
}

#[derive(Debug)]
struct State {
    events: AsyncMutex<mpsc::UnboundedReceiver<Event>>,
    waiting: Mutex<HashMap<String, Waiting>>,
    asked: watch::Sender<u64>,
    failed: watch::Sender<Option<String>>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    answer: oneshot::Sender<Answer>,
}

impl RuntimeApi {
    /// Starts one that has no events yet.
    ///
    /// # Errors
    /// When loopback has no port to give.
    pub async fn start() -> Result<Self> {
        let (events, receiver) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            events: AsyncMutex::new(receiver),
            waiting: Mutex::default(),
            asked: watch::Sender::new(0),
            failed: watch::Sender::new(None),
        });
        let server = Server::start(Arc::clone(&state), None).await?;
        Ok(Self { state, server, events })
    }

    /// Where it listens: what `AWS_LAMBDA_RUNTIME_API` has to say.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Waits until the function has asked for its `count`-th event: then it has nothing left to do of those before.
    ///
    /// # Errors
    /// When the function reports an error instead.
    pub async fn asked(&self, count: u64) -> Result<()> {
        let (mut asked, mut failed) = (self.state.asked.subscribe(), self.state.failed.subscribe());
        tokio::select! {
            reached = asked.wait_for(|asked| *asked >= count) => reached.map(|_| ()).context("the Runtime API is gone"),
            error = failed.wait_for(Option::is_some) => {
                Err(anyhow!("the function reported an error: {}", error?.as_deref().unwrap_or_default()))
            }
        }
    }

    /// Hands out `event` as the invocation `id`, and waits for the answer.
    ///
    /// # Errors
    /// When the function reports an error instead.
    pub async fn invoke(&self, id: String, event: Bytes) -> Result<Answer> {
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting { since: Instant::now(), answer: sender };
        self.state.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), waiting);
        self.events.send(Event { id, body: event }).context("the Runtime API is gone")?;
        let mut failed = self.state.failed.subscribe();
        tokio::select! {
            answer = answer => answer.context("the event was never answered"),
            error = failed.wait_for(Option::is_some) => {
                Err(anyhow!("the function reported an error: {}", error?.as_deref().unwrap_or_default()))
            }
        }
    }
}

impl State {
    async fn next(&self) -> Response<Full<Bytes>> {
        self.asked.send_modify(|asked| *asked = asked.saturating_add(1));
        let Some(event) = self.events.lock().await.recv().await else { return status(StatusCode::GONE) };
        if let Some(waiting) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&event.id) {
            waiting.since = Instant::now();
        }
        let deadline = SystemTime::now().checked_add(DEADLINE).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let mut response = Response::new(Full::new(event.body));
        for (name, value) in [
            ("content-type", "application/json".to_owned()),
            ("lambda-runtime-aws-request-id", event.id),
            ("lambda-runtime-deadline-ms", deadline.unwrap_or_default().as_millis().to_string()),
            ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-central-1:123456789012:function:bench".into()),
            (
                "lambda-runtime-trace-id",
                "Root=1-6741e0f0-0123456789abcdef01234567;Parent=0123456789abcdef;Sampled=0".into(),
            ),
        ] {
            if let Ok(value) = value.try_into() {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }

    fn answered(&self, id: &str, body: Bytes) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(waiting) = waiting {
            // The caller may have given up.
            let _ = waiting.answer.send(Answer { body, took: waiting.since.elapsed() });
        }
    }
}

impl Service for State {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().strip_prefix("/2018-06-01/runtime/").unwrap_or_default();
        let steps: Vec<&str> = path.split('/').collect();
        match (&parts.method, steps.as_slice()) {
            (&Method::GET, ["invocation", "next"]) => self.next().await,
            (&Method::POST, ["invocation", id, "response"]) => {
                self.answered(id, body);
                status(StatusCode::ACCEPTED)
            }
            (&Method::POST, ["invocation", _, "error"] | ["init", "error"]) => {
                self.failed.send_replace(Some(String::from_utf8_lossy(&body).into_owned()));
                status(StatusCode::ACCEPTED)
            }
            _ => status(StatusCode::NOT_FOUND),
        }
    }
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
