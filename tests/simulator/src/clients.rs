//! What all clients do: they have a key, send a request, and send it again or not. This module must
//! not know what is stored.

pub mod batches;
pub mod updates;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use consistency::RunRecord;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{sleep, timeout};

use crate::aws::Aws;
use crate::keys::{Keys, UsedKey};
use crate::lambda::{HttpRequest, Invocation, Lambda, Response};
use crate::promises::Promise;
use crate::scenario::Scenario;

/// How long a client sends a request again.
pub const RETRY_TIMEOUT: Duration = Duration::from_mins(1);

/// How long after a failed call to SQS or S3 an environment may still be without them: it waits 20
/// seconds for a key snapshot that hangs, and asks S3 again five seconds later.
const EXPLAINED_FOR: Duration = Duration::from_secs(25);

/// What the clients of a run share.
pub struct Clients {
    pub aws: Aws,
    pub scenario: Scenario,
    pub keys: Rc<Keys>,
    pub record: RefCell<RunRecord>,
}

/// What a client does when it gets a 503, or no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryBehavior {
    /// It sends the request again, for a minute.
    Retries,
    /// It does not retry, like the client libraries in use.
    NeverRetries,
    /// It waits a short time only, and sends the request again while the first one is still served.
    HangsUp,
}

impl RetryBehavior {
    /// Whether it sends a request again.
    pub fn retries(self) -> bool {
        match self {
            Self::Retries | Self::HangsUp => true,
            Self::NeverRetries => false,
        }
    }
}

/// A client with its key.
#[derive(Clone)]
pub struct Client {
    pub number: u64,
    pub account: u32,
    pub retry_behavior: RetryBehavior,
    pub lambda: Lambda,
    pub random: RefCell<fastrand::Rng>,
}

/// An attempt to send a request.
pub struct Attempt<'a> {
    pub path: &'static str,
    pub body: String,
    /// What the lines of the client say of it.
    pub what: &'a str,
    /// A text that these lines have in them, and those of the calls that it leads to.
    pub about: &'a str,
}

/// What a client got after one attempt.
pub struct Received {
    /// `None` when the environment was killed, or the client hung up.
    pub response: Option<Response>,
    /// The latest time that the clock of the environment may have shown, in microseconds, if the
    /// invocation has ended.
    pub latest_clock: u64,
    /// The invocation that continues after the client hung up.
    pub still_served: Option<JoinHandle<Invocation>>,
}

impl Client {
    /// The `number`-th client of a function. Its account and its retry behavior follow from the number.
    pub fn new(number: u64, accounts: u32, lambda: Lambda, random: fastrand::Rng) -> Self {
        let behaviors = [
            RetryBehavior::Retries,
            RetryBehavior::NeverRetries,
            RetryBehavior::Retries,
            RetryBehavior::HangsUp,
        ];
        let turn = usize::try_from(number).unwrap_or_default() % behaviors.len();
        let account = u32::try_from(number).unwrap_or_default() % accounts;
        Self {
            number,
            account,
            retry_behavior: behaviors[turn],
            lambda,
            random: RefCell::new(random),
        }
    }

    fn name(&self) -> String {
        format!("client {}", self.number)
    }

    /// Waits before the next request, or before the same again.
    pub async fn pause(&self, longest: u64) {
        let millis = self.random.borrow_mut().u64(..longest);
        sleep(Duration::from_millis(millis)).await;
    }
}

impl Clients {
    /// Sends a request, and checks what a client can see of the promises.
    pub async fn send(&self, client: &Client, attempt: Attempt<'_>) -> Received {
        let Attempt {
            path,
            body,
            what,
            about,
        } = attempt;
        self.aws.state().counts.requests += 1;
        let used = self
            .keys
            .key_of(client.account, client.number, self.aws.elapsed());
        let request = HttpRequest {
            path,
            key: used.secret.clone(),
            body,
        };
        let name = client.name();
        let began = self.aws.elapsed();
        self.aws.note(&name, || format!("sends {what};"));
        let mut invocation = client.lambda.request(request);
        let wait = match client.retry_behavior {
            RetryBehavior::HangsUp => {
                Duration::from_millis(client.random.borrow_mut().u64(100..3_000))
            }
            RetryBehavior::Retries | RetryBehavior::NeverRetries => RETRY_TIMEOUT,
        };
        let Ok(joined) = timeout(wait, &mut invocation).await else {
            self.aws.note(&name, || format!("hangs up on {what};"));
            return Received {
                response: None,
                latest_clock: 0,
                still_served: Some(invocation),
            };
        };
        let Invocation {
            response,
            latest_clock,
            environment,
        } = joined.expect("an invocation does not panic");
        let status = response.as_ref().map(|response| response.status);
        self.aws
            .note(&name, || format!("gets {status:?} to {what};"));
        if let Some(response) = &response {
            let broken = self.broken_by(response, began, &used, &environment);
            if let Some(broken) = broken {
                let text = format!("{name}, {what}: {broken}: {}", response.body);
                let promises = &mut self.aws.state().promises;
                promises.note(Promise::Response, text, about.to_owned());
            }
        }
        let is_lost = client.random.borrow_mut().f64() < self.scenario.lost_responses;
        if is_lost {
            self.aws
                .note(&name, || format!("does not get the response to {what};"));
        }
        Received {
            response: response.filter(|_| !is_lost),
            latest_clock,
            still_served: None,
        }
    }

    /// Adds to the record what came of a request, with the latest time that the clocks of its
    /// environments may have shown: when all its attempts are served, also those on which the client
    /// hung up.
    pub fn record_when_served(
        self: &Rc<Self>,
        mut latest_clock: u64,
        still_served: Vec<JoinHandle<Invocation>>,
        add: impl FnOnce(&mut RunRecord, u64) + 'static,
    ) {
        let clients = self.clone();
        spawn_local(async move {
            for invocation in still_served {
                let served = invocation.await.expect("an invocation does not panic");
                latest_clock = latest_clock.max(served.latest_clock);
            }
            let record = &mut *clients.record.borrow_mut();
            add(record, latest_clock);
        });
    }

    /// What is wrong with a response, whatever was sent.
    fn broken_by(
        &self,
        response: &Response,
        began: Duration,
        used: &UsedKey,
        environment: &str,
    ) -> Option<&'static str> {
        match response.status {
            200 | 400 if Keys::must_refuse(used, began, &self.aws) => {
                Some("a revoked key is accepted")
            }
            200 => None,
            400 => {
                let is_validation = response.body["code"] == "validation-failed";
                (!is_validation).then_some("a 400 to a request without an invalid signal or field")
            }
            401 if self.keys.is_revoked(&used.secret) => None,
            401 => Some("a valid key is refused"),
            503 => {
                let failed_at = self.aws.state().last_failure_beside_tables(environment);
                let is_explained = failed_at.is_some_and(|at| at + EXPLAINED_FOR >= began);
                (!is_explained).then_some("a 503 while SQS and S3 are available")
            }
            _ => Some("a status that no request of a client gets"),
        }
    }
}
