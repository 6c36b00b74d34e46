//! An SQS with an overflow queue and its dead-letter queue. It keeps the messages of one overflow queue in memory, within SQS's
//! limits. A test says what the queues count. Must not know what is in a message.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Value, json};

use sandbox::http_server::{HttpServer, Service};

/// The URL of the overflow queue.
pub const OVERFLOW_QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/overflow";

/// The URL of its dead-letter queue.
pub const DEAD_LETTER_QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/dead-letters";

/// The largest message, and the largest sum of the messages of one call, in bytes ("Amazon SQS message quotas").
const MAX_BYTES: usize = 1024 * 1024;

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeSqs(HttpServer<State>);

#[derive(Debug, Default)]
struct State(Mutex<Queues>);

#[derive(Debug, Default)]
struct Queues {
    messages: Vec<String>,
    /// The `MessageGroupId` of each message that was sent.
    groups: Vec<Option<String>>,
    is_unavailable: bool,
    overflow_counts: Answers<[u64; 3]>,
    dead_letter_counts: Answers<[u64; 3]>,
    calls: Vec<(String, Value)>,
}

/// The status, the code and the message of a response that is an error.
type CallError = (u16, &'static str, &'static str);

/// Answers, one after another; the last one stays.
#[derive(Debug, Default)]
struct Answers<T>(VecDeque<T>);

impl<T: Clone + Default> Answers<T> {
    fn next(&mut self) -> T {
        if self.0.len() > 1 { self.0.pop_front() } else { self.0.front().cloned() }.unwrap_or_default()
    }
}

impl FakeSqs {
    /// Starts one with empty queues.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        Ok(Self(HttpServer::start(State::default(), None).await?))
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Whether every call fails from here on.
    pub fn set_unavailable(&self, is_unavailable: bool) {
        self.0.service.queues(|queues| queues.is_unavailable = is_unavailable);
    }

    /// Takes the messages of the overflow queue.
    pub fn take_messages(&self) -> Vec<String> {
        self.0.service.queues(|queues| std::mem::take(&mut queues.messages))
    }

    /// The groups of the messages that were sent since the last time.
    pub fn take_groups(&self) -> Vec<Option<String>> {
        self.0.service.queues(|queues| std::mem::take(&mut queues.groups))
    }

    /// What the queues count from here on, call after call: waiting, in flight, delayed.
    pub fn set_counts<const N: usize, const M: usize>(&self, overflow: [[u64; 3]; N], dead_letters: [[u64; 3]; M]) {
        self.0.service.queues(|queues| {
            queues.overflow_counts = Answers(overflow.into());
            queues.dead_letter_counts = Answers(dead_letters.into());
        });
    }

    /// The operations and bodies of the calls since the last time, without those that send messages or read a queue's counts.
    pub fn take_calls(&self) -> Vec<(String, Value)> {
        let mut calls = self.0.service.queues(|queues| std::mem::take(&mut queues.calls));
        calls.retain(|(_, body)| body["AttributeNames"].as_array().is_none_or(|names| names.len() == 1));
        calls
    }
}

/// The ARN of the queue with this URL.
pub fn arn(url: &str) -> String {
    format!("arn:aws:sqs:eu-central-1:000000000000:{}", url.rsplit('/').next().unwrap_or_default())
}

impl State {
    fn queues<T>(&self, work: impl FnOnce(&mut Queues) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Service for State {
    #[expect(clippy::unwrap_used, reason = "the statuses and codes of this file make valid responses")]
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request.headers().get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let call = serde_json::from_slice(request.body()).unwrap_or_default();
        let answer = self.queues(|queues| queues.answer(target.trim_start_matches("AmazonSQS."), call));
        let body = |body: Value| Full::from(body.to_string());
        match answer {
            Ok(answer) => Response::new(body(answer)),
            Err((status, code, message)) => Response::builder()
                .status(status)
                .header("x-amzn-query-error", format!("AWS.SimpleQueueService.{code};Sender"))
                .body(body(json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": message})))
                .unwrap(),
        }
    }
}

impl Queues {
    /// The body of the response to a call.
    fn answer(&mut self, operation: &str, call: Value) -> Result<Value, CallError> {
        if self.is_unavailable {
            return Err((500, "InternalError", ""));
        }
        let answer = match operation {
            "SendMessage" => self.send(&call),
            "GetQueueAttributes" => self.attributes(&call),
            "StartMessageMoveTask" => Ok(json!({"TaskHandle": "handle"})),
            _ => Err((400, "UnsupportedOperation", "")),
        };
        // The messages of the others are kept already.
        if operation != "SendMessage" {
            self.calls.push((operation.to_owned(), call));
        }
        answer
    }

    fn send(&mut self, call: &Value) -> Result<Value, CallError> {
        let body = call["MessageBody"].as_str().unwrap_or_default();
        if body.len() > MAX_BYTES || !body.chars().all(is_allowed) {
            return Err((400, "InvalidMessageContents", ""));
        }
        let group = call["MessageGroupId"].as_str().map(ToOwned::to_owned);
        let is_group = |group: &String| matches!(group.len(), 1..=128) && group.chars().all(|c| c.is_ascii_graphic());
        if !group.as_ref().is_none_or(is_group) {
            return Err((400, "InvalidParameterValue", ""));
        }
        self.groups.push(group);
        let id = self.messages.len().to_string();
        self.messages.push(body.to_owned());
        Ok(json!({"MessageId": id, "MD5OfMessageBody": ""}))
    }

    /// The attributes that a call names, as SQS writes them.
    fn attributes(&mut self, call: &Value) -> Result<Value, CallError> {
        let url = call["QueueUrl"].as_str().unwrap_or_default();
        if call["AttributeNames"] == json!(["QueueArn"]) {
            return Ok(json!({"Attributes": {"QueueArn": arn(url)}}));
        }
        let [waiting, in_flight, delayed] = match url {
            OVERFLOW_QUEUE => self.overflow_counts.next(),
            DEAD_LETTER_QUEUE => self.dead_letter_counts.next(),
            _ => return Err((400, "NonExistentQueue", "The specified queue does not exist.")),
        };
        Ok(json!({"Attributes": {
            "ApproximateNumberOfMessages": waiting.to_string(),
            "ApproximateNumberOfMessagesNotVisible": in_flight.to_string(),
            "ApproximateNumberOfMessagesDelayed": delayed.to_string(),
        }}))
    }
}

/// The characters of a message (`SendMessage` in the SQS API reference).
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
