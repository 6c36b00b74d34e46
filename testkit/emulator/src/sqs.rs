//! An SQS with an overflow queue and its dead-letter queue, in memory or in a file and within SQS's limits: `cargo dev` serves it, and tests
//! start private ones. A test may say what the queues count. Must not know what is in a message.

mod batch;
mod journal;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use data_encoding::HEXLOWER;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use md5::{Digest as _, Md5};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use sandbox::http_server::{HttpServer, Service, response};

pub use self::batch::{drained, event};
use self::journal::Journal;

/// The URL of the overflow queue.
pub const OVERFLOW_QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/overflow";

/// The URL of its dead-letter queue.
pub const DEAD_LETTER_QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/dead-letters";

/// The largest message, and the largest sum of the messages of one call, in bytes ("Amazon SQS message quotas").
const MAX_BYTES: usize = 1024 * 1024;

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeSqs(HttpServer<State>);

/// A message that was received.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Its text.
    pub body: String,
    /// Why it is a dead letter, if the overflow function said so.
    pub reason: Option<String>,
    receives: u32,
    visible_at: Instant,
}

#[derive(Debug, Default)]
struct State(Mutex<Queues>);

#[derive(Debug, Default)]
struct Queues {
    overflow: Queue,
    dead_letters: Queue,
    sent: u64,
    /// The `MessageGroupId` of each message that was sent.
    groups: Vec<Option<String>>,
    is_unavailable: bool,
    are_receives_unlimited: bool,
    /// What `SendMessage` is answered instead of being done.
    answer_of_sends: Option<Value>,
    calls: Vec<(String, Value)>,
    journal: Option<Journal>,
    /// Gets each message that the overflow queue takes.
    observer: Option<mpsc::UnboundedSender<String>>,
}

#[derive(Debug, Default)]
struct Queue {
    messages: Vec<Message>,
    /// What a test says that it counts, one after another; the last one stays.
    counts: VecDeque<[u64; 3]>,
}

/// The status, the code and the message of a response that is an error.
type CallError = (u16, &'static str, &'static str);

impl FakeSqs {
    /// Starts one with empty queues.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        Ok(Self(HttpServer::start(State::default(), None).await?))
    }

    /// Starts one with the queues that a file has, which keeps them.
    ///
    /// # Errors
    /// When the file cannot be read or written, or loopback has no free port.
    pub async fn start_in(file: &Path) -> Result<Self> {
        Ok(Self(HttpServer::start(State(Mutex::new(journal::open(file)?)), None).await?))
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Whether every call fails from here on.
    pub fn set_unavailable(&self, is_unavailable: bool) {
        self.0.service.queues(|queues| queues.is_unavailable = is_unavailable);
    }

    /// Answers `SendMessage` with this body from here on, without keeping the message.
    pub fn answer_sends_with(&self, answer: Option<Value>) {
        self.0.service.queues(|queues| queues.answer_of_sends = answer);
    }

    /// No message becomes a dead letter from here on, however often it is received. (In template.yaml that takes days.)
    pub fn allow_all_receives(&self) {
        self.0.service.queues(|queues| queues.are_receives_unlimited = true);
    }

    /// Up to `most` messages of the overflow queue. They are hidden for so long, and then received again, unless they are deleted.
    pub fn receive(&self, most: usize, hidden: Duration) -> Vec<Message> {
        self.0.service.queues(|queues| queues.receive(most, hidden, Instant::now()))
    }

    /// Hides a message no longer.
    pub fn release(&self, id: &str) {
        self.0.service.queues(|queues| {
            let released = queues.overflow.messages.iter_mut().filter(|message| message.id == id);
            released.for_each(|message| message.visible_at = Instant::now());
        });
    }

    /// Deletes a message of the overflow queue.
    pub fn delete(&self, id: &str) {
        self.0.service.queues(|queues| queues.delete(id));
    }

    /// How many messages were sent.
    pub fn sent(&self) -> u64 {
        self.0.service.queues(|queues| queues.sent)
    }

    /// How many messages of the overflow queue were not deleted yet.
    pub fn remaining(&self) -> usize {
        self.0.service.queues(|queues| queues.overflow.messages.len())
    }

    /// Takes the messages of the overflow queue.
    pub fn take_messages(&self) -> Vec<String> {
        self.0.service.queues(|queues| queues.overflow.messages.drain(..).map(|message| message.body).collect())
    }

    /// How many messages the dead-letter queue has.
    pub fn dead_letters(&self) -> usize {
        self.0.service.queues(|queues| queues.dead_letters.messages.len())
    }

    /// The groups of the messages that were sent since the last time.
    pub fn take_groups(&self) -> Vec<Option<String>> {
        self.0.service.queues(|queues| std::mem::take(&mut queues.groups))
    }

    /// What the queues count from here on, call after call: waiting, in flight, delayed.
    pub fn set_counts<const N: usize, const M: usize>(&self, overflow: [[u64; 3]; N], dead_letters: [[u64; 3]; M]) {
        self.0.service.queues(|queues| {
            queues.overflow.counts = overflow.into();
            queues.dead_letters.counts = dead_letters.into();
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
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request.headers().get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let call = serde_json::from_slice(request.body()).unwrap_or_default();
        let answer = self.queues(|queues| queues.answer(target.trim_start_matches("AmazonSQS."), call));
        match answer {
            Ok(answer) => response(200, &[], answer.to_string()),
            Err((status, code, message)) => {
                let body = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": message});
                let code = format!("AWS.SimpleQueueService.{code};Sender");
                response(status, &[("x-amzn-query-error", &code)], body.to_string())
            }
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
            "SendMessage" if self.answer_of_sends.is_some() => Ok(self.answer_of_sends.clone().into()),
            "SendMessage" => self.send(&call),
            "GetQueueAttributes" => self.attributes(&call),
            "StartMessageMoveTask" => {
                self.redrive();
                Ok(json!({"TaskHandle": "handle"}))
            }
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
        let id = self.sent.to_string();
        let reason =
            call.pointer("/MessageAttributes/reason/StringValue").and_then(Value::as_str).map(ToOwned::to_owned);
        let message =
            Message { id: id.clone(), body: body.to_owned(), reason, receives: 0, visible_at: Instant::now() };
        let is_dead = call["QueueUrl"] == DEAD_LETTER_QUEUE;
        self.queue(call)?;
        if !self.keep_sent(&message, is_dead) {
            return Err((500, "InternalError", ""));
        }
        if let Some(observer) = self.observer.as_ref().filter(|_| !is_dead) {
            // One that has gone misses nothing.
            let _ = observer.send(message.body.clone());
        }
        self.queue(call)?.messages.push(message);
        self.sent += 1;
        self.groups.push(group);
        Ok(json!({"MessageId": id, "MD5OfMessageBody": HEXLOWER.encode(&Md5::digest(body))}))
    }

    fn queue(&mut self, call: &Value) -> Result<&mut Queue, CallError> {
        match call["QueueUrl"].as_str().unwrap_or_default() {
            OVERFLOW_QUEUE => Ok(&mut self.overflow),
            DEAD_LETTER_QUEUE => Ok(&mut self.dead_letters),
            _ => Err((400, "NonExistentQueue", "The specified queue does not exist.")),
        }
    }

    fn delete(&mut self, id: &str) {
        self.keep_deleted(id);
        self.overflow.messages.retain(|message| message.id != id);
    }

    /// Moves the dead letters back.
    fn redrive(&mut self) {
        self.keep_redriven();
        let now = Instant::now();
        let fresh = |message| Message { receives: 0, visible_at: now, ..message };
        self.overflow.messages.extend(self.dead_letters.messages.drain(..).map(fresh));
    }

    /// The attributes that a call names, as SQS writes them.
    fn attributes(&mut self, call: &Value) -> Result<Value, CallError> {
        if call["AttributeNames"] == json!(["QueueArn"]) {
            return Ok(json!({"Attributes": {"QueueArn": arn(call["QueueUrl"].as_str().unwrap_or_default())}}));
        }
        let [waiting, in_flight, delayed] = self.queue(call)?.counts(Instant::now());
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

#[cfg(test)]
mod tests;
