//! Lambda: gives each event to an environment, one at a time, starts another where none is idle, and
//! kills some. This module must not know what is in an event.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use lambda_http::http::Method;
use lambda_http::{Body, Context, Request, RequestExt as _};
use overflow::{SqsEvent, SqsMessage};
use serde_json::Value;
use service::context::RequestContext;
use service::runtime::http::{HttpFunction, serve};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{sleep, timeout};

use crate::aws::Aws;
use crate::aws::sqs::Received;
use crate::environment::{Environment, Function, FunctionKind};
use crate::log_check;
use crate::promises::Promise;

/// How long an invocation may take: template.yaml's `Timeout` of the functions, and of the overflow
/// function.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(15);
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a request may take (docs/outages.md, How long a request waits), and some milliseconds.
const REQUEST_LIMIT: Duration = Duration::from_millis(10_100);

/// How environments live.
#[derive(Clone, Debug)]
pub struct Lifetimes {
    /// How long Lambda takes to start one, in milliseconds.
    pub start: std::ops::Range<u64>,
    /// Events that one serves.
    pub events: std::ops::Range<u32>,
    /// The share of the invocations in which the environment is killed.
    pub kills: f64,
    /// Whether each has a clock of its own.
    pub have_clocks: bool,
}

/// A function of Lambda. A clone is the same one.
#[derive(Clone)]
pub struct Lambda(Rc<Shared>);

struct Shared {
    aws: Aws,
    kind: FunctionKind,
    lifetimes: Lifetimes,
    idle: RefCell<Vec<Environment>>,
    random: RefCell<fastrand::Rng>,
    started: Cell<u64>,
}

/// A POST to a function behind the HTTP API.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub path: &'static str,
    pub key: String,
    pub body: String,
}

/// What a client gets.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub body: Value,
}

/// What became of an invocation.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// `None` when the environment was killed: then API Gateway responds with a 500.
    pub response: Option<Response>,
    /// The latest time that the clock of the environment may have shown, in microseconds.
    pub latest_clock: u64,
    /// The environment that served it.
    pub environment: Arc<str>,
}

impl Lambda {
    /// A function without environments.
    pub fn new(aws: Aws, kind: FunctionKind, lifetimes: Lifetimes, random: fastrand::Rng) -> Self {
        Self(Rc::new(Shared {
            aws,
            kind,
            lifetimes,
            idle: RefCell::default(),
            random: RefCell::new(random),
            started: Cell::new(0),
        }))
    }

    /// Sends a request. The invocation continues when the handle is dropped.
    pub fn request(&self, request: HttpRequest) -> JoinHandle<Invocation> {
        let lambda = self.clone();
        spawn_local(async move {
            let environment = lambda.environment().await;
            let context = lambda.context(&environment, TIMEOUT);
            let now = environment.now(&lambda.0.aws);
            let request = request.with_context(context);
            let context = RequestContext::from_request(&request, now, environment.log.clone());
            let serving = async {
                match &environment.function {
                    Function::Customers(function) => respond(function, &request, context).await,
                    Function::Signals(function) => respond(function, &request, context).await,
                    Function::Overflow(_) => panic!("no client reaches the overflow function"),
                }
            };
            let response = lambda.run(&environment.name, serving, REQUEST_LIMIT).await;
            let ahead = u64::try_from(environment.ahead.as_micros()).expect("a minute at most");
            let latest_clock = lambda.0.aws.micros() + ahead;
            let name = environment.name.clone();
            lambda.put_back(environment, response.is_some());
            Invocation {
                response,
                latest_clock,
                environment: name,
            }
        })
    }

    /// Gives messages to the overflow function. Returns those that failed; `None` when its
    /// environment was killed.
    pub async fn drain(&self, messages: Vec<Received>) -> Option<Vec<u64>> {
        let environment = self.environment().await;
        let context = self.context(&environment, DRAIN_TIMEOUT);
        let now = environment.now(&self.0.aws);
        let records = messages.into_iter().map(|message| SqsMessage {
            message_id: message.id.to_string(),
            body: message.body,
        });
        let event = SqsEvent {
            records: records.collect(),
        };
        let Function::Overflow(function) = &environment.function else {
            panic!("only the overflow function drains")
        };
        let draining = function.drain(event, &context, now, &environment.log);
        let outcome = self.run(&environment.name, draining, DRAIN_TIMEOUT).await;
        self.put_back(environment, outcome.is_some());
        let failures = outcome?.response.batch_item_failures;
        let ids = failures
            .iter()
            .map(|failure| failure.item_identifier.parse());
        Some(
            ids.collect::<Result<_, _>>()
                .expect("the function returns the ids that it got"),
        )
    }

    /// An idle environment, or a new one.
    async fn environment(&self) -> Environment {
        let shared = &*self.0;
        if let Some(idle) = shared.idle.borrow_mut().pop() {
            return idle;
        }
        let number = shared.started.get();
        shared.started.set(number + 1);
        let lifetimes = &shared.lifetimes;
        let (start, left) = {
            let mut random = shared.random.borrow_mut();
            let start = random.u64(lifetimes.start.clone());
            (start, random.u32(lifetimes.events.clone()))
        };
        sleep(Duration::from_millis(start)).await;
        Environment::start(
            &shared.aws,
            shared.kind,
            number,
            left,
            lifetimes.have_clocks,
        )
        .await
    }

    fn context(&self, environment: &Environment, timeout: Duration) -> Context {
        let mut context = Context::default();
        let number = self.0.random.borrow_mut().u64(..);
        context.request_id = format!("{number:016x}");
        context.deadline = environment.now(&self.0.aws).plus(timeout).millis();
        context
    }

    /// Runs an invocation. `None` if its environment is killed, or if it takes longer than it may,
    /// which breaks a promise.
    async fn run<T>(
        &self,
        environment: &Arc<str>,
        invocation: impl Future<Output = T>,
        limit: Duration,
    ) -> Option<T> {
        let invocation = log_check::WRITER.scope(environment.clone(), invocation);
        let killed_after = {
            let mut random = self.0.random.borrow_mut();
            // Mostly between its first calls; in a drain, also later.
            let longest = [60, 60, 2_500, 20_000][random.usize(..4)];
            let after = Duration::from_millis(random.u64(1..longest));
            (random.f64() < self.0.lifetimes.kills).then_some(after)
        };
        let outcome = timeout(killed_after.unwrap_or(limit), invocation)
            .await
            .ok();
        if outcome.is_none() && killed_after.is_none() {
            let text = format!("an invocation takes longer than {limit:?}");
            let promises = &mut self.0.aws.state().promises;
            promises.note(Promise::RequestTime, text, environment.to_string());
        }
        outcome
    }

    /// Keeps an environment for the next event, unless it was killed or has served enough.
    fn put_back(&self, mut environment: Environment, survived: bool) {
        environment.left = environment.left.saturating_sub(1);
        if !survived {
            self.0.aws.state().counts.kills += 1;
            self.0
                .aws
                .note(&environment.name, || "is killed".to_owned());
        }
        if survived && environment.left > 0 {
            self.0.idle.borrow_mut().push(environment);
        } else {
            environment.end();
        }
    }
}

impl HttpRequest {
    fn with_context(self, context: Context) -> Request {
        let mut request = Request::new(Body::Text(self.body));
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        let bearer = format!("Bearer {}", self.key);
        headers.insert("authorization", bearer.parse().expect("a key is ASCII"));
        headers.insert("content-type", "application/json".parse().expect("ASCII"));
        request
            .with_raw_http_path(self.path)
            .with_lambda_context(context)
    }
}

async fn respond<F: HttpFunction>(
    function: &F,
    request: &Request,
    context: RequestContext,
) -> Response {
    let served = serve(function, request, context).await;
    let body = served.response.body().as_ref();
    Response {
        status: served.response.status().as_u16(),
        body: serde_json::from_slice(body).unwrap_or_default(),
    }
}
