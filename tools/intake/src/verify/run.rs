//! What the phases share: the API, the history so far, the checks. Must not know what is correct.

use std::cell::{Cell, RefCell};

use anyhow::Result;
use consistency::{History, Micros, Outcome, Request, Update};
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::api::{Api, Call, Response, SIGNALS, now};
use super::check::{Check, Expected};
use super::load::Batch;
use crate::check_result::Verdict;

/// How far the clocks of two functions may be apart.
const FUNCTION_CLOCK_SKEW: Micros = 50_000;

pub(super) struct Run<'a> {
    pub(super) api: Api,
    pub(super) account: &'a AccountId,
    history: RefCell<History>,
    checks: RefCell<Vec<Check>>,
    /// Signals that went to the overflow queue.
    deferred: Cell<u64>,
    /// The requests with signals, each attempt counted.
    attempts: Cell<u64>,
    /// The shortest round trip of a request that read the functions' clock, and what is added to this machine's clock for it.
    clock: Cell<Option<(Micros, i64)>>,
}

impl<'a> Run<'a> {
    pub(super) fn new(api: Api, account: &'a AccountId) -> Self {
        Self {
            api,
            account,
            history: RefCell::default(),
            checks: RefCell::default(),
            deferred: Cell::new(0),
            attempts: Cell::new(0),
            clock: Cell::new(None),
        }
    }

    pub(super) fn add(&self, promise: &'static str, name: impl Into<String>, verdict: Verdict) {
        let Verdict { result, seen: detail } = verdict;
        self.checks.borrow_mut().push(Check { name: name.into(), promise, result, detail });
    }

    pub(super) fn checks(&self) -> Vec<Check> {
        self.checks.borrow().clone()
    }

    /// The next batch of this size.
    pub(super) fn batch(&self, size: usize) -> Batch {
        let number = self.history.borrow().requests.len() as u64;
        let batch = Batch::new(self.account, number, size);
        // It takes its number, so that no other batch gets it. It may be sent, and interrupted before its response.
        self.note(batch.clone(), now(), Outcome::Unknown);
        batch
    }

    /// Sends a call and checks the response.
    pub(super) async fn check(&self, promise: &'static str, name: &str, call: &Call, expected: &Expected) {
        let response = self.api.send(call).await;
        self.add(promise, name, expected.verdict(&response));
    }

    /// Sends a batch, notes it in the history, and checks the response.
    pub(super) async fn check_batch(
        &self,
        (promise, name): (&'static str, &str),
        batch: Batch,
        prepare: impl FnOnce(Call) -> Call,
        expected: &Expected,
    ) {
        let call = prepare(Call::post(SIGNALS, batch.body()));
        let sent = now();
        let response = self.send(&call).await;
        self.add(promise, name, expected.verdict(&response));
        self.note(batch, sent, outcome(&response));
    }

    /// Sends a call with signals.
    pub(super) async fn send(&self, call: &Call) -> Result<Response> {
        self.attempts.set(self.attempts.get() + 1);
        let response = self.api.send(call).await;
        if let Ok(response) = &response {
            self.deferred.set(self.deferred.get() + response.count("deferred"));
        }
        response
    }

    /// Notes a batch, all its attempts together.
    pub(super) fn note(&self, batch: Batch, sent: Micros, outcome: Outcome) {
        let Batch { number, identifier, sent: signals, .. } = batch;
        self.history.borrow_mut().requests.insert(number, Request { sent, outcome, identifier, signals });
    }

    pub(super) fn note_update(&self, update: Update) {
        self.history.borrow_mut().updates.push(update);
    }

    /// Notes that the clock of the functions was `at` between these two times of this machine's clock.
    pub(super) fn note_clock(&self, at: Timestamp, sent: Micros, received: Micros) {
        let at = i64::try_from(at.millis() * 1_000).unwrap_or(i64::MAX);
        let reading = (received.saturating_sub(sent), at.saturating_sub_unsigned(sent.midpoint(received)));
        self.clock.set(Some(self.clock.get().map_or(reading, |best| best.min(reading))));
    }

    pub(super) fn deferred(&self) -> u64 {
        self.deferred.get()
    }

    pub(super) fn attempts(&self) -> u64 {
        self.attempts.get()
    }

    /// The requestIdentifiers that were sent.
    pub(super) fn identifiers(&self) -> Vec<String> {
        self.history.borrow().requests.values().filter_map(|request| request.identifier.clone()).collect()
    }

    /// The history, with the times of the functions' clock.
    pub(super) fn history(&self) -> History {
        let (round_trip, offset) = self.clock.get().unwrap_or_default();
        let mut history = self.history.borrow().clone();
        // A time of the functions is in whole milliseconds.
        history.clock_skew = round_trip.div_ceil(2) + 1_000 + FUNCTION_CLOCK_SKEW;
        let at = |time: Micros| time.saturating_add_signed(offset);
        for request in history.requests.values_mut() {
            request.sent = at(request.sent).saturating_sub(history.clock_skew);
            if let Outcome::Acknowledged(time) = &mut request.outcome {
                *time = at(*time);
            }
        }
        history
    }
}

/// What a client knows after this response.
pub(super) fn outcome(response: &Result<Response>) -> Outcome {
    match response {
        Ok(response) if response.status == 200 => Outcome::Acknowledged(response.received),
        // API Gateway answers 429 without calling the function.
        Ok(response) if (400..500).contains(&response.status) => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}
