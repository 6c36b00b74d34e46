//! What the phases of `verify` share. Must not know which requests are sent, nor what is stored.

use model::account::AccountId;
use model::timestamp::Timestamp;

use super::api::{Api, ApiRequest};
use super::checks::Checks;
use super::expected_response::ExpectedResponse;
use super::sending::Sender;

pub(super) struct CheckContext<'a> {
    pub(super) sender: Sender,
    pub(super) checks: Checks,
    /// The account that everything is stored under.
    pub(super) account: &'a AccountId,
    pub(super) began_at: Timestamp,
}

impl<'a> CheckContext<'a> {
    pub(super) fn new(api: Api, account: &'a AccountId, began_at: Timestamp) -> Self {
        Self {
            sender: Sender::new(api),
            checks: Checks::default(),
            account,
            began_at,
        }
    }

    /// Sends a request, and adds the check that the response is as expected.
    pub(super) async fn check(
        &self,
        promise: &'static str,
        name: &str,
        request: &ApiRequest,
        expected: &ExpectedResponse,
    ) {
        let response = self.sender.send(request).await;
        self.checks.add(promise, name, expected.outcome(&response));
    }
}
