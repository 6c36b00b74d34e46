//! An SQS with an overflow queue and its dead-letter queue. It holds no message: a test says what it counts and how a
//! redrive goes, and reads the calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Value, json};
use testkit::http_server::{HttpServer, Service};

use crate::operator::Operator;

pub(crate) const OVERFLOW: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/overflow";
pub(crate) const DEAD_LETTERS: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/dead-letters";

pub(crate) struct FakeQueue {
    state: Arc<Mutex<State>>,
    server: HttpServer,
}

#[derive(Default)]
struct State {
    overflow: Answers<[u64; 3]>,
    dead_letters: Answers<[u64; 3]>,
    /// What `ListMessageMoveTasks` lists.
    tasks: Answers<Vec<Value>>,
    calls: Vec<(String, Value)>,
}

/// Answers, one after another; the last one stays.
#[derive(Default)]
struct Answers<T>(VecDeque<T>);

impl<T: Clone + Default> Answers<T> {
    fn next(&mut self) -> T {
        if self.0.len() > 1 { self.0.pop_front() } else { self.0.front().cloned() }.unwrap_or_default()
    }
}

/// A move of messages in this state, the `n`th.
pub(crate) fn task(n: u64, status: &str, moved: u64) -> Value {
    json!({"Status": status, "StartedTimestamp": n, "ApproximateNumberOfMessagesMoved": moved, "ApproximateNumberOfMessagesToMove": 3})
}

impl FakeQueue {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let server = HttpServer::start(Arc::new(Sqs(Arc::clone(&state))), None).await.unwrap();
        Self { state, server }
    }

    /// The operator with the variables of the queues.
    pub(crate) fn of(&self, operator: Operator) -> Operator {
        self.endpoint_of(operator)
            .variable("OVERFLOW_QUEUE_URL", OVERFLOW)
            .variable("DEAD_LETTER_QUEUE_URL", DEAD_LETTERS)
    }

    /// The operator with this SQS.
    pub(crate) fn endpoint_of(&self, operator: Operator) -> Operator {
        operator.variable("AWS_ENDPOINT_URL_SQS", &format!("http://{}", self.server.address()))
    }

    /// What the queues count from here on, call after call: waiting, in flight, delayed.
    pub(crate) fn set_counts<const N: usize, const M: usize>(
        &self,
        overflow: [[u64; 3]; N],
        dead_letters: [[u64; 3]; M],
    ) {
        let mut state = self.state.lock().unwrap();
        state.overflow = Answers(overflow.into());
        state.dead_letters = Answers(dead_letters.into());
    }

    /// What is listed of moves from here on, call after call.
    pub(crate) fn set_tasks<const N: usize>(&self, tasks: [Vec<Value>; N]) {
        self.state.lock().unwrap().tasks = Answers(tasks.into());
    }

    /// The calls since the last time, without those that ask for a queue's counts.
    pub(crate) fn take_calls(&self) -> Vec<(String, Value)> {
        let mut calls = std::mem::take(&mut self.state.lock().unwrap().calls);
        calls.retain(|(_, body)| body["AttributeNames"].as_array().is_none_or(|names| names.len() == 1));
        calls
    }

    /// Waits until this operation was called so often.
    pub(crate) fn wait_for(&self, operation: &str, times: usize) {
        let begin = Instant::now();
        while self.state.lock().unwrap().calls.iter().filter(|(called, _)| called == operation).count() < times {
            assert!(begin.elapsed() < Duration::from_mins(1), "{operation} was not called {times} times");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

struct Sqs(Arc<Mutex<State>>);

impl Service for Sqs {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let operation =
            request.headers()["x-amz-target"].to_str().unwrap().strip_prefix("AmazonSQS.").unwrap().to_owned();
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let mut state = self.0.lock().unwrap();
        state.calls.push((operation.clone(), body.clone()));
        let answer = match operation.as_str() {
            "GetQueueAttributes" => state.attributes(&body),
            "ListMessageMoveTasks" => Some(json!({"Results": state.tasks.next()})),
            "StartMessageMoveTask" => Some(json!({"TaskHandle": "handle"})),
            _ => panic!("{operation}"),
        };
        let response = Response::builder().header("content-type", "application/x-amz-json-1.0");
        let (response, body) = match answer {
            Some(answer) => (response, answer),
            None => (
                response.status(400).header("x-amzn-query-error", "AWS.SimpleQueueService.NonExistentQueue;Sender"),
                json!({"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "The specified queue does not exist."}),
            ),
        };
        response.body(Full::new(Bytes::from(body.to_string()))).unwrap()
    }
}

impl State {
    /// The attributes that are asked for, as SQS writes them; `None` of a queue that does not exist.
    fn attributes(&mut self, body: &Value) -> Option<Value> {
        let url = body["QueueUrl"].as_str().unwrap();
        if body["AttributeNames"] == json!(["QueueArn"]) {
            return Some(json!({"Attributes": {"QueueArn": arn(url)}}));
        }
        let [waiting, in_flight, delayed] = match url {
            OVERFLOW => self.overflow.next(),
            DEAD_LETTERS => self.dead_letters.next(),
            _ => return None,
        };
        Some(json!({"Attributes": {
            "ApproximateNumberOfMessages": waiting.to_string(),
            "ApproximateNumberOfMessagesNotVisible": in_flight.to_string(),
            "ApproximateNumberOfMessagesDelayed": delayed.to_string(),
        }}))
    }
}

pub(crate) fn arn(url: &str) -> String {
    format!("arn:aws:sqs:eu-central-1:000000000000:{}", url.rsplit('/').next().unwrap())
}
