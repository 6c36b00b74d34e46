//! An SQS with an overflow queue and its dead-letter queue, in memory or in a file and within SQS's
//! limits: `cargo dev` serves it, and tests start private ones. It counts exactly, or what a test says.

mod calls;
mod lambda_event;
mod queues;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Value, json};

use processes::http_server::{HttpServer, Service, response};

use self::calls::SqsError;
pub use self::calls::{DEAD_LETTER_QUEUE, OVERFLOW_QUEUE, arn};
use self::lambda_event::drained_ids;
pub use self::lambda_event::event;
pub use self::queues::QueueMessage;
use self::queues::Queues;
use crate::fault_proxy::{FaultInjector, Plan};

/// What comes before the operation in its header.
pub(crate) const TARGET_PREFIX: &str = "AmazonSQS.";

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeSqs(HttpServer<FaultInjector<SqsState>>);

#[derive(Debug)]
pub struct SqsState(Mutex<Queues>);

impl FakeSqs {
    /// Starts a server with empty queues.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        Self::start_with(Queues::in_memory()?).await
    }

    /// As [`FakeSqs::start`], in a thread of its own.
    ///
    /// # Errors
    /// When loopback has no free port, or the thread cannot be started.
    pub fn start_in_thread() -> Result<Self> {
        let sqs = injector_before(Queues::in_memory()?);
        HttpServer::start_in_thread(sqs).map(Self)
    }

    /// Starts a server whose queues a file keeps.
    ///
    /// # Errors
    /// The file cannot be read or written, or is not such a file; or loopback has no free port.
    pub async fn start_in(file: &Path) -> Result<Self> {
        Self::start_with(Queues::open(file)?).await
    }

    async fn start_with(queues: Queues) -> Result<Self> {
        let sqs = injector_before(queues);
        HttpServer::start(sqs, None).await.map(Self)
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// What responds to its calls.
    pub(crate) fn state(&self) -> Arc<FaultInjector<SqsState>> {
        Arc::clone(&self.0.service)
    }

    /// How many connections clients have opened.
    pub fn connections(&self) -> u64 {
        self.use_queues(|queues| queues.connections)
    }

    /// Has calls fail.
    pub fn faults(&self) -> &FaultInjector<SqsState> {
        &self.0.service
    }

    /// Up to `most` messages of the overflow queue. They are hidden for so long, and then received
    /// again, unless they are deleted.
    pub fn receive(&self, most: usize, hidden: Duration) -> Vec<QueueMessage> {
        let received = self.use_queues(|queues| queues.receive(most, hidden, Instant::now()));
        // On a full disk nothing can be marked as received, until there is room again.
        received.unwrap_or_default()
    }

    /// Gives a function up to `most` messages as an event, as Lambda does ("Using Lambda with Amazon
    /// SQS" in its developer guide), and deletes those that the function has drained. The others are
    /// received again after `hidden`. `invoke` returns the response to the event, or null when there
    /// is none. Returns whether there was a message.
    pub async fn deliver<R>(
        &self,
        most: usize,
        hidden: Duration,
        invoke: impl FnOnce(Value) -> R,
    ) -> bool
    where
        R: Future<Output = Value>,
    {
        let messages = self.receive(most, hidden);
        if messages.is_empty() {
            return false;
        }
        let response = invoke(event(&messages)).await;
        for id in drained_ids(&messages, &response) {
            self.delete(id);
        }
        true
    }

    /// Deletes a message of the overflow queue.
    pub fn delete(&self, id: &str) {
        // On AWS, too, a message may come back after it was deleted.
        let _ = self.use_queues(|queues| queues.delete(id));
    }

    /// Deletes every message of both queues.
    pub fn clear(&self) {
        let _ = self.use_queues(|queues| queues.clear());
    }

    /// Deletes the messages of both queues with a body that `is_unwanted`.
    pub fn delete_bodies(&self, is_unwanted: impl Fn(&str) -> bool) {
        let _ = self.use_queues(|queues| queues.delete_bodies(is_unwanted));
    }

    /// How many messages were sent.
    pub fn sent(&self) -> u64 {
        self.use_queues(|queues| queues.sent)
    }

    /// How many messages of the overflow queue were not deleted yet.
    pub fn remaining(&self) -> u64 {
        self.count(false)
    }

    /// How many messages the dead-letter queue has.
    pub fn dead_letters(&self) -> u64 {
        self.count(true)
    }

    fn count(&self, is_dead: bool) -> u64 {
        let remaining = self.use_queues(|queues| queues.remaining(is_dead));
        remaining.expect("a database that was opened can be read")
    }

    /// Takes the messages of the overflow queue.
    pub fn take_messages(&self) -> Vec<String> {
        let messages = self.take(false).into_iter();
        messages.map(|message| message.body).collect()
    }

    /// Takes all messages of the dead-letter queue.
    pub fn take_dead_letters(&self) -> Vec<QueueMessage> {
        self.take(true)
    }

    fn take(&self, is_dead: bool) -> Vec<QueueMessage> {
        let taken = self.use_queues(|queues| queues.take(is_dead));
        taken.expect("a database that was opened can be read and written")
    }

    /// What the queues count from here on, call after call: waiting, in flight, delayed.
    pub fn set_counts<const N: usize, const M: usize>(
        &self,
        overflow: [[u64; 3]; N],
        dead_letters: [[u64; 3]; M],
    ) {
        self.use_queues(|queues| {
            queues.overflow_counts = overflow.into();
            queues.dead_letter_counts = dead_letters.into();
        });
    }

    /// The operations and bodies of the calls since the last time, without those that send messages
    /// or read a queue's counts.
    pub fn take_calls(&self) -> Vec<(String, Value)> {
        let mut calls = self.use_queues(|queues| std::mem::take(&mut queues.calls));
        // A call for an ARN names one attribute, a call for counts names all of them.
        calls.retain(|(_operation, body)| {
            let attributes = body["AttributeNames"].as_array();
            attributes.is_none_or(|names| names.len() == 1)
        });
        calls
    }

    fn use_queues<T>(&self, work: impl FnOnce(&mut Queues) -> T) -> T {
        self.0.service.service.use_queues(work)
    }
}

fn injector_before(queues: Queues) -> FaultInjector<SqsState> {
    FaultInjector::new(SqsState(Mutex::new(queues)), Plan::none())
}

impl SqsState {
    fn use_queues<T>(&self, work: impl FnOnce(&mut Queues) -> T) -> T {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut queues)
    }
}

impl Service for SqsState {
    fn connected(&self, _number: u64) {
        self.use_queues(|queues| queues.connections += 1);
    }

    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request
            .headers()
            .get("x-amz-target")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let call = serde_json::from_slice(request.body()).unwrap_or_default();
        let operation = target.trim_start_matches(TARGET_PREFIX);
        let body = self.use_queues(|queues| queues.respond(operation, call));
        match body {
            Ok(body) => response(200, &[], body.to_string()),
            Err(error) => error_response(error),
        }
    }
}

fn error_response(error: SqsError) -> Response<Full<Bytes>> {
    let SqsError {
        status,
        code,
        message,
    } = error;
    let body = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": message});
    let query_error = format!("AWS.SimpleQueueService.{code};Sender");
    let headers = [("x-amzn-query-error", query_error.as_str())];
    response(status, &headers, body.to_string())
}
