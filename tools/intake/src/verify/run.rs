//! What the phases share: the API, the history so far, the checks. Must not know what is correct.

use std::cell::RefCell;

use anyhow::Result;
use consistency::{History, Micros, Outcome, Request, Update};
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::api::{Api, Call, Expected, Response, SIGNALS, now};
use super::load::Batch;
use super::report::Check;
use crate::check_result::Verdict;

/// How far the clocks of two functions may be apart.
const FUNCTION_CLOCK_SKEW: Micros = 50_000;

pub(super) struct Run<'a> {
    pub(super) api: Api,
    pub(super) account: &'a AccountId,
    pub(super) seen: RefCell<Seen>,
}

/// What was sent and seen so far.
#[derive(Default)]
pub(super) struct Seen {
    history: History,
    pub(super) checks: Vec<Check>,
    /// Signals that went to the overflow queue.
    pub(super) deferred: u64,
    /// The identifiers that a 503 offered: the records of batches that were sent without one.
    offered: Vec<String>,
    /// The requests with signals, each attempt counted.
    pub(super) attempts: u64,
    /// The shortest round trip of a request that read the functions' clock, and what is added to this machine's clock for it.
    clock: Option<(Micros, i64)>,
}

impl<'a> Run<'a> {
    pub(super) fn new(api: Api, account: &'a AccountId) -> Self {
        Self { api, account, seen: RefCell::default() }
    }

    pub(super) fn add(&self, promise: &'static str, name: impl Into<String>, verdict: Verdict) {
        let Verdict { result, seen: detail } = verdict;
        self.seen.borrow_mut().checks.push(Check { name: name.into(), promise, result, detail });
    }

    /// The next batch of this size.
    pub(super) fn batch(&self, size: usize) -> Batch {
        let number = self.seen.borrow().history.requests.len() as u64;
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
        let response = self.api.send(call).await;
        let mut seen = self.seen.borrow_mut();
        seen.attempts += 1;
        seen.deferred += response.as_ref().map_or(0, |response| response.count("deferred"));
        let unavailable = response.as_ref().ok().filter(|response| response.status == 503);
        let offered = unavailable.and_then(|response| response.body.get("requestIdentifier")?.as_str());
        seen.offered.extend(offered.map(str::to_owned));
        response
    }

    /// Notes a batch, all its attempts together.
    pub(super) fn note(&self, batch: Batch, sent: Micros, outcome: Outcome) {
        let Batch { number, identifier, sent: signals, .. } = batch;
        let request = Request { sent, outcome, identifier, signals };
        self.seen.borrow_mut().history.requests.insert(number, request);
    }

    pub(super) fn note_update(&self, update: Update) {
        self.seen.borrow_mut().history.updates.push(update);
    }

    /// Notes that the clock of the functions was `at` between these two times of this machine's clock.
    pub(super) fn note_clock(&self, at: Timestamp, sent: Micros, received: Micros) {
        let at = i64::try_from(at.millis() * 1_000).unwrap_or(i64::MAX);
        let reading = (received.saturating_sub(sent), at.saturating_sub_unsigned(sent.midpoint(received)));
        let clock = &mut self.seen.borrow_mut().clock;
        *clock = Some(clock.map_or(reading, |best| best.min(reading)));
    }

    /// The requestIdentifiers that were sent.
    pub(super) fn identifiers(&self) -> Vec<String> {
        let Seen { history, offered, .. } = &*self.seen.borrow();
        let sent = history.requests.values().filter_map(|request| request.identifier.clone());
        sent.chain(offered.iter().cloned()).collect()
    }

    /// The history, with the times of the functions' clock.
    pub(super) fn history(&self) -> History {
        let Seen { history, clock, .. } = &*self.seen.borrow();
        let ((round_trip, offset), mut history) = (clock.unwrap_or_default(), history.clone());
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
