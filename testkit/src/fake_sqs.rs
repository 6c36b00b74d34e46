//! An SQS with one queue that keeps its messages in memory, within SQS's limits. Must not know what is in them.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::http_server::{HttpServer, Service};

/// The largest message, and the largest sum of the messages of one call, in bytes ("Amazon SQS message quotas").
const MAX_BYTES: usize = 1024 * 1024;

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeSqs {
    state: Arc<State>,
    server: HttpServer,
}

#[derive(Debug, Default)]
struct State(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    messages: Vec<String>,
    is_away: bool,
}

impl FakeSqs {
    /// Starts one with an empty queue.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        let state = Arc::new(State::default());
        let server = HttpServer::start(Arc::clone(&state), None).await?;
        Ok(Self { state, server })
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The URL of the queue.
    pub fn queue_url(&self) -> String {
        format!("{}/123456789012/overflow", self.endpoint())
    }

    /// Whether every call fails from here on.
    pub fn set_away(&self, is_away: bool) {
        self.state.queue(|queue| queue.is_away = is_away);
    }

    /// Takes the messages of the queue.
    pub fn take_messages(&self) -> Vec<String> {
        self.state.queue(|queue| std::mem::take(&mut queue.messages))
    }
}

impl State {
    fn queue<T>(&self, work: impl FnOnce(&mut Queue) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Service for State {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request.headers().get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let call: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let (status, body) = self.queue(|queue| match target {
            _ if queue.is_away => (500, json!({"__type": "com.amazonaws.sqs#InternalError"})),
            "AmazonSQS.SendMessageBatch" => queue.send(&call),
            _ => (400, json!({"__type": "com.amazonaws.sqs#UnsupportedOperation"})),
        });
        let mut response = Response::new(Full::from(body.to_string()));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
        response
    }
}

impl Queue {
    fn send(&mut self, call: &Value) -> (u16, Value) {
        let entries = call["Entries"].as_array().map(Vec::as_slice).unwrap_or_default();
        let body = |entry: &Value| entry["MessageBody"].as_str().unwrap_or_default().to_owned();
        let bytes: usize = entries.iter().map(|entry| body(entry).len()).sum();
        if bytes > MAX_BYTES {
            return (400, json!({"__type": "com.amazonaws.sqs#BatchRequestTooLong"}));
        }
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in entries {
            let body = body(entry);
            if body.chars().all(is_allowed) {
                let id = self.messages.len().to_string();
                successful.push(json!({"Id": entry["Id"], "MessageId": id, "MD5OfMessageBody": ""}));
                self.messages.push(body);
            } else {
                failed.push(json!({"Id": entry["Id"], "SenderFault": true, "Code": "InvalidMessageContents"}));
            }
        }
        (200, json!({"Successful": successful, "Failed": failed}))
    }
}

/// The characters of a message (`SendMessage` in the SQS API reference).
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
