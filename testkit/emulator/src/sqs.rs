//! An SQS with an overflow queue and its dead-letter queue, in memory or in a file and within SQS's
//! limits: `cargo dev` serves it, and tests start private ones. A test may say what the queues
//! count. Must not know what is in a message.

mod batch;
mod journal;
mod queues;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Value, json};

use sandbox::http_server::{HttpServer, Service, response};

pub use self::batch::{drained, event};
use self::queues::Queues;
pub use self::queues::{DEAD_LETTER_QUEUE, Message, OVERFLOW_QUEUE, arn};

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeSqs(HttpServer<State>);

#[derive(Debug, Default)]
struct State(Mutex<Queues>);

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
        Ok(Self(
            HttpServer::start(State(Mutex::new(Queues::open(file)?)), None).await?,
        ))
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Whether every call fails from here on.
    pub fn set_unavailable(&self, is_unavailable: bool) {
        self.0
            .service
            .queues(|queues| queues.is_unavailable = is_unavailable);
    }

    /// Answers `SendMessage` with this body from here on, without keeping the message.
    pub fn answer_sends_with(&self, answer: Option<Value>) {
        self.0
            .service
            .queues(|queues| queues.answer_of_sends = answer);
    }

    /// No message becomes a dead letter from here on, however often it is received. (In
    /// template.yaml that takes days.)
    pub fn allow_all_receives(&self) {
        self.0
            .service
            .queues(|queues| queues.are_receives_unlimited = true);
    }

    /// Up to `most` messages of the overflow queue. They are hidden for so long, and then received
    /// again, unless they are deleted.
    pub fn receive(&self, most: usize, hidden: Duration) -> Vec<Message> {
        self.0
            .service
            .queues(|queues| queues.receive(most, hidden, Instant::now()))
    }

    /// Hides a message no longer.
    pub fn release(&self, id: &str) {
        self.0.service.queues(|queues| {
            let released = queues
                .overflow
                .messages
                .iter_mut()
                .filter(|message| message.id == id);
            released.for_each(|message| message.visible_at = Instant::now());
        });
    }

    /// Deletes a message of the overflow queue.
    pub fn delete(&self, id: &str) {
        self.0.service.queues(|queues| queues.delete(id));
    }

    /// Deletes every message of both queues.
    pub fn clear(&self) {
        self.0.service.queues(Queues::clear);
    }

    /// How many messages were sent.
    pub fn sent(&self) -> u64 {
        self.0.service.queues(|queues| queues.sent)
    }

    /// How many messages of the overflow queue were not deleted yet.
    pub fn remaining(&self) -> usize {
        self.0
            .service
            .queues(|queues| queues.overflow.messages.len())
    }

    /// Takes the messages of the overflow queue.
    pub fn take_messages(&self) -> Vec<String> {
        self.0.service.queues(|queues| {
            queues
                .overflow
                .messages
                .drain(..)
                .map(|message| message.body)
                .collect()
        })
    }

    /// How many messages the dead-letter queue has.
    pub fn dead_letters(&self) -> usize {
        self.0
            .service
            .queues(|queues| queues.dead_letters.messages.len())
    }

    /// The groups of the messages that were sent since the last time.
    pub fn take_groups(&self) -> Vec<Option<String>> {
        self.0
            .service
            .queues(|queues| std::mem::take(&mut queues.groups))
    }

    /// What the queues count from here on, call after call: waiting, in flight, delayed.
    pub fn set_counts<const N: usize, const M: usize>(
        &self,
        overflow: [[u64; 3]; N],
        dead_letters: [[u64; 3]; M],
    ) {
        self.0.service.queues(|queues| {
            queues.overflow.counts = overflow.into();
            queues.dead_letters.counts = dead_letters.into();
        });
    }

    /// The operations and bodies of the calls since the last time, without those that send messages
    /// or read a queue's counts.
    pub fn take_calls(&self) -> Vec<(String, Value)> {
        let mut calls = self
            .0
            .service
            .queues(|queues| std::mem::take(&mut queues.calls));
        calls.retain(|(_, body)| {
            body["AttributeNames"]
                .as_array()
                .is_none_or(|names| names.len() == 1)
        });
        calls
    }
}

impl State {
    fn queues<T>(&self, work: impl FnOnce(&mut Queues) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Service for State {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request
            .headers()
            .get("x-amz-target")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let call = serde_json::from_slice(request.body()).unwrap_or_default();
        let answer =
            self.queues(|queues| queues.answer(target.trim_start_matches("AmazonSQS."), call));
        match answer {
            Ok(answer) => response(200, &[], answer.to_string()),
            Err((status, code, message)) => {
                let body =
                    json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": message});
                let code = format!("AWS.SimpleQueueService.{code};Sender");
                response(status, &[("x-amzn-query-error", &code)], body.to_string())
            }
        }
    }
}
