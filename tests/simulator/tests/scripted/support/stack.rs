//! The three functions over the simulated AWS, which fails as a test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use customers::CustomersFunction;
use lambda_http::Context;
use model::api_key::{KEY_PREFIX, KeyHash};
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use overflow::{OverflowFunction, SqsEvent, SqsMessage};
use serde_json::Value;
use service::runtime::InvocationOutcome;
use service::runtime::batch_item_failures::PartialBatchResponse;
use service::runtime::http::serve;
use service::telemetry::log::Log;
use signals::SignalsFunction;
use simulator::aws::Aws;
use simulator::aws::connector::EnvironmentConnector;
use simulator::aws::dynamodb::SIGNALS;
use simulator::aws::faults::{CUT_RESPONSE, Fault, FaultPlan, Rule, Target};
use simulator::aws::sqs::DeadLetter;
use simulator::environment::{Function, FunctionKind, function};
use simulator::keys;
use simulator::trace::Trace;
use tokio::time::Instant;

use super::clock::{NOW, later};
use super::request_builder::{RequestBuilder, TestResponse};

pub(crate) use simulator::aws::dynamodb::Item;

/// How long a call takes that nothing is wrong with. Half of it is before it takes effect.
pub(crate) const LATENCY: Duration = Duration::from_millis(2);

/// How long the writes of a request may take (docs/outages.md, How long a request waits).
pub(crate) const WRITE_BUDGET: Duration = Duration::from_millis(1_250);

/// What the writes of a request that has little time leave to the queue.
pub(crate) const QUEUE_RESERVE: Duration = Duration::from_millis(2_500);

/// What the writes of a batch also leave, to an idempotency record after signals could not be stored.
pub(crate) const LATE_RECORD_BUDGET: Duration = Duration::from_millis(500);

pub(crate) const NO_MESSAGES: [&str; 0] = [];

/// DynamoDB's refusal of a call that breaks one of its rules.
pub(crate) const INVALID: Fault = Fault::Refused("ValidationException");

/// Failures of a call that DynamoDB may recover from at once, or never.
pub(crate) const FAILURES: [Fault; 11] = [
    Fault::Throttled,
    Fault::Refused("ThrottlingException"),
    Fault::ServerError,
    Fault::Status(429),
    Fault::Status(503),
    Fault::Refused("InvalidSignatureException"),
    Fault::Lost,
    Fault::ResponseLost,
    Fault::ResponseReplaced(CUT_RESPONSE),
    Fault::ResponseReplaced(""),
    Fault::ResponseReplaced("<html></html>"),
];

/// The functions, and a key of the account `shop`.
pub(crate) struct Stack {
    pub(crate) aws: Aws,
    pub(crate) key: String,
    /// The connections of an operator.
    pub(crate) operator: EnvironmentConnector,
    customers: CustomersFunction,
    signals: SignalsFunction,
    overflow: OverflowFunction,
    lines: Arc<Mutex<Vec<Value>>>,
    log: Log,
}

impl Stack {
    /// A stack as template.yaml has it. No command has written a key snapshot yet.
    pub(crate) fn start(rules: impl IntoIterator<Item = Rule>) -> Self {
        // The waits between calls are drawn: the same ones in each run.
        fastrand::seed(0);
        let aws = Aws::new(FaultPlan(Vec::new()), 0, Trace::default());
        aws.state().latency = Some(LATENCY);
        let connector = |name| EnvironmentConnector::new(aws.clone(), name);
        let start = |kind, name| function(kind, &connector(name));
        let (
            Function::Customers(customers),
            Function::Signals(signals),
            Function::Overflow(overflow),
        ) = (
            start(FunctionKind::Customers, "customers 0"),
            start(FunctionKind::Signals, "signals 0"),
            start(FunctionKind::Overflow, "overflow 0"),
        )
        else {
            panic!("each kind is a function of its own")
        };
        let lines: Arc<Mutex<Vec<Value>>> = Arc::default();
        let written = lines.clone();
        let log = Log::new("scripted", move |line| {
            let line = serde_json::from_str(line).unwrap();
            written.lock().unwrap().push(line);
        });
        let mut stack = Self {
            operator: connector("operator 0"),
            aws,
            key: String::new(),
            customers,
            signals,
            overflow,
            lines,
            log,
        };
        stack.key = stack.key_with(1, |_| {});
        stack.set(rules);
        stack
    }

    /// Fails in these ways from the next call on.
    pub(crate) fn set(&self, rules: impl IntoIterator<Item = Rule>) {
        self.aws.state().plan = FaultPlan(rules.into_iter().collect());
    }

    /// Calls of one operation so far, each attempt counted, whatever came of it.
    pub(crate) fn calls_of(&self, operation: &str) -> u64 {
        let state = self.aws.state();
        let calls = state.calls_of_operation.get(operation);
        calls.copied().unwrap_or_default()
    }

    /// How many calls a rule was about, that were on their way to fail.
    pub(crate) fn faulted(&self) -> u64 {
        self.aws.state().counts.faulted
    }

    /// Lets a minute pass, after which each late call has taken effect.
    pub(crate) async fn await_late_calls(&self, count: u64) {
        assert_eq!(self.faulted(), count, "late calls");
        tokio::time::sleep(Duration::from_mins(1)).await;
    }

    /// A new key of the account `shop`, whose entry is changed before it is stored. Each has a number.
    pub(crate) fn key_with(&self, number: u64, change: impl FnOnce(&mut KeyEntry)) -> String {
        let key = format!("{KEY_PREFIX}{number:032x}");
        let mut entry = key_entry();
        change(&mut entry);
        keys::store(&self.aws, KeyHash::from_key(&key), &entry);
        key
    }

    /// What the work returns, and how long it took.
    pub(crate) async fn timed<T>(&self, work: impl Future<Output = T>) -> (T, Duration) {
        let began = Instant::now();
        let done = work.await;
        (done, began.elapsed())
    }

    /// Sends a request with the key of the stack.
    pub(crate) async fn request(&self, call: RequestBuilder) -> TestResponse {
        self.request_with_its_key(call.key(&self.key)).await
    }

    pub(crate) async fn request_with_its_key(&self, call: RequestBuilder) -> TestResponse {
        let is_for_signals = call.is_for_signals();
        let now = NOW.plus(self.aws.elapsed());
        let (request, context) = call.into_parts(self.log.clone(), now);
        TestResponse::new(if is_for_signals {
            serve(&self.signals, &request, context).await.response
        } else {
            serve(&self.customers, &request, context).await.response
        })
    }

    /// Sends a batch of signals that arrives at this time.
    pub(crate) async fn send(&self, body: &Value, at: Timestamp) -> TestResponse {
        self.request(RequestBuilder::signals(body).received_at(at))
            .await
    }

    /// Sends a batch of which so many signals are deferred.
    pub(crate) async fn send_deferred(&self, body: &Value, at: Timestamp, count: usize) {
        let response = self.send(body, at).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["deferred"], count, "{response:?}");
    }

    /// Takes the messages of the overflow queue.
    pub(crate) fn take_messages(&self) -> Vec<String> {
        self.aws.state().queues.take_messages()
    }

    pub(crate) fn take_dead_letters(&self) -> Vec<DeadLetter> {
        std::mem::take(&mut self.aws.state().queues.dead_letters)
    }

    /// Drains all messages of the queue. None is to be delivered again.
    pub(crate) async fn drain(&self) {
        self.drain_messages(&self.take_messages()).await;
    }

    /// Drains these messages. None is to be delivered again.
    pub(crate) async fn drain_messages(&self, messages: &[String]) {
        assert_eq!(self.drain_and_return_failed(messages).await, NO_MESSAGES);
    }

    /// Drains these messages a minute after `NOW`, and returns those that are to be delivered
    /// again.
    pub(crate) async fn drain_and_return_failed(&self, messages: &[String]) -> Vec<String> {
        self.drain_at(messages, later(60)).await
    }

    /// Drains these messages at this time, and returns those that are to be delivered again.
    pub(crate) async fn drain_at(&self, messages: &[String], now: Timestamp) -> Vec<String> {
        let drained = self.invoke_overflow(messages, now).await;
        let failed = drained.response.batch_item_failures.into_iter();
        failed
            .map(|failure| messages[failure.item_identifier.parse::<usize>().unwrap()].clone())
            .collect()
    }

    /// Calls the overflow function with these messages. Their ids are their indexes.
    pub(crate) async fn invoke_overflow(
        &self,
        messages: &[String],
        now: Timestamp,
    ) -> InvocationOutcome<PartialBatchResponse> {
        let records = messages.iter().zip(0..).map(|(body, id)| SqsMessage {
            message_id: id.to_string(),
            body: body.clone(),
        });
        let event = SqsEvent {
            records: records.collect(),
        };
        let context = Context::default();
        self.overflow.drain(event, &context, now, &self.log).await
    }

    /// The one dead letter is this message, of which DynamoDB refused a write.
    pub(crate) fn assert_refused_dead_letter(&self, message: &str) {
        let dead_letters = self.take_dead_letters();
        assert_eq!(dead_letters.len(), 1, "{dead_letters:?}");
        assert_eq!(dead_letters[0].body, message);
        assert_eq!(
            dead_letters[0].reason.as_deref(),
            Some("ValidationException")
        );
    }

    /// All items of a table, in the order of their keys.
    pub(crate) fn items(&self, table: &str) -> Vec<Item> {
        self.aws.state().tables.items(table).cloned().collect()
    }

    /// The stored signals in the order of their sort keys.
    pub(crate) fn stored(&self) -> Vec<Item> {
        let mut items = self.items(SIGNALS);
        items.sort_by_key(|item| text(item, "sk").unwrap().to_owned());
        items
    }

    /// The numbers of the stored signals, in their order.
    pub(crate) fn stored_numbers(&self) -> Vec<usize> {
        let number = |item: &Item| {
            item["data"]["M"]["n"]["N"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap()
        };
        self.stored().iter().map(number).collect()
    }

    /// The lines that the functions have logged since the last time.
    pub(crate) fn take_lines(&self) -> Vec<Value> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let broken = self.aws.state().promises.broken().to_vec();
            assert!(broken.is_empty(), "{broken:?}");
        }
    }
}

/// The entry of a key of the account `shop` that is valid for all endpoints.
pub(crate) fn key_entry() -> KeyEntry {
    KeyEntry {
        key_id: "key_of_shop".to_owned(),
        account_id: "shop".parse().unwrap(),
        name: "test".to_owned(),
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        only: None,
    }
}

/// A queue that refuses each message at once, which takes [`LATENCY`].
pub(crate) fn refusing_queue() -> Rule {
    Fault::Refused("AccessDeniedException")
        .always()
        .on(Target::Sqs)
}

/// A call that takes so many milliseconds, and [`LATENCY`]'s second half.
pub(crate) fn slow(millis: u64) -> Fault {
    Fault::Slow(millis..millis + 1)
}

/// A call without a response, which takes effect half a minute later.
pub(crate) fn late() -> Fault {
    Fault::Late(30_000..30_001)
}

pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name).map(|value| value["S"].as_str().unwrap())
}

/// A number, as it is stored.
pub(crate) fn number<'a>(item: &'a Item, name: &str) -> &'a str {
    item[name]["N"].as_str().unwrap()
}

/// The batch was accepted, and none of its signals is deferred: then the count is absent.
#[track_caller]
pub(crate) fn assert_not_deferred(response: &TestResponse) {
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.json().get("deferred"), None, "{response:?}");
}

#[track_caller]
pub(crate) fn assert_unavailable(response: &TestResponse) {
    response.assert_problem(503, "storage-unavailable");
    assert_eq!(response.header("retry-after"), "2");
}
