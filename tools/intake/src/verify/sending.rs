//! Sends requests, and records what was sent: for the comparison with what is stored, and for its
//! removal. Must not know which requests there are.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use anyhow::Result;

use super::api::{Api, ApiRequest, ApiResponse};
use super::batch::SentBatch;
use super::expected_response::ExpectedResponse;
use crate::check_result::CheckOutcome;

pub(super) struct Sender {
    pub(super) api: Api,
    /// What was sent, by requestIdentifier. A batch is recorded before it is sent, since an
    /// interruption may come before its response.
    pub(super) batches: RefCell<BTreeMap<String, SentBatch>>,
    /// How many signals and updates of customers went to the overflow queue.
    pub(super) deferred: Cell<u64>,
}

impl Sender {
    pub(super) fn new(api: Api) -> Self {
        Self {
            api,
            batches: RefCell::default(),
            deferred: Cell::default(),
        }
    }

    pub(super) async fn send(&self, request: &ApiRequest) -> Result<ApiResponse> {
        let response = self.api.send(request).await;
        let deferred = response.as_ref().map_or(0, ApiResponse::deferred);
        self.deferred.update(|before| before + deferred);
        response
    }

    /// Sends a batch.
    pub(super) async fn send_batch(&self, batch: SentBatch, request: &ApiRequest) -> AnsweredBatch {
        let identifier = batch.identifier.clone();
        let expected = batch.expected();
        self.batches.borrow_mut().insert(identifier.clone(), batch);
        let response = self.send(request).await;
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
