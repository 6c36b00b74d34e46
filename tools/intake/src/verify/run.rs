//! What the phases share: the API, what was sent, and the checks. Must not know what is correct.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use anyhow::Result;
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::api::{Api, ApiResponse, Call, ExpectedResponse};
use super::batch::SentBatch;
use super::report::Check;
use crate::check_result::CheckOutcome;

pub(super) struct Run<'a> {
    pub(super) api: Api,
    pub(super) account: &'a AccountId,
    pub(super) began_at: Timestamp,
    pub(super) checks: RefCell<Vec<Check>>,
    /// What was sent, by requestIdentifier, also before a response came: an interruption comes at
    /// any time.
    pub(super) batches: RefCell<BTreeMap<String, SentBatch>>,
    /// Signals and updates of customers that went to the overflow queue.
    pub(super) deferred: Cell<u64>,
}

impl<'a> Run<'a> {
    pub(super) fn new(api: Api, account: &'a AccountId, began_at: Timestamp) -> Self {
        Self {
            api,
            account,
            began_at,
            checks: RefCell::default(),
            batches: RefCell::default(),
            deferred: Cell::default(),
        }
    }

    pub(super) fn add(
        &self,
        promise: &'static str,
        name: impl Into<String>,
        outcome: CheckOutcome,
    ) {
        let check = Check {
            name: name.into(),
            promise,
            result: outcome.result,
            detail: outcome.seen,
        };
        self.checks.borrow_mut().push(check);
    }

    /// Adds a check that holds if there are no faults.
    pub(super) fn add_faults(
        &self,
        promise: &'static str,
        name: &str,
        faults: &[String],
        seen: String,
    ) {
        let outcome = match faults.first() {
            None => CheckOutcome::held(seen),
            Some(first) => {
                CheckOutcome::failed(format!("{} case(s); the first: {first}", faults.len()))
            }
        };
        self.add(promise, name, outcome);
    }

    /// Sends a call and checks the response.
    pub(super) async fn check(
        &self,
        promise: &'static str,
        name: &str,
        call: &Call,
        expected: &ExpectedResponse,
    ) {
        let response = self.send(call).await;
        self.add(promise, name, expected.outcome(&response));
    }

    pub(super) async fn send(&self, call: &Call) -> Result<ApiResponse> {
        let response = self.api.send(call).await;
        let deferred = response.as_ref().map_or(0, ApiResponse::deferred);
        self.deferred.update(|before| before + deferred);
        response
    }

    /// Sends a batch.
    pub(super) async fn send_batch(&self, batch: SentBatch, call: &Call) -> AnsweredBatch {
        let identifier = batch.identifier.clone();
        let expected = batch.expected();
        self.batches.borrow_mut().insert(identifier.clone(), batch);
        let response = self.send(call).await;
        let is_acknowledged = response
            .as_ref()
            .is_ok_and(|response| response.status == 200);
        if let Some(batch) = self.batches.borrow_mut().get_mut(&identifier) {
            batch.is_acknowledged = is_acknowledged;
        }
        AnsweredBatch { response, expected }
    }
}

/// The response to a batch, and what it has to be.
pub(super) struct AnsweredBatch {
    pub(super) response: Result<ApiResponse>,
    pub(super) expected: ExpectedResponse,
}

impl AnsweredBatch {
    /// The outcome of a check that the response is as expected.
    pub(super) fn outcome(&self) -> CheckOutcome {
        self.expected.outcome(&self.response)
    }
}
