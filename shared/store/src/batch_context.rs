//! What all items of one batch have in common.

use model::account::AccountId;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;

/// The origin of a batch: whose it is, and which request and invocation it came with.
#[derive(Clone, Copy, Debug)]
pub struct BatchContext<'a> {
    /// The account of the API key.
    pub account_id: &'a AccountId,
    /// The API key, for the operator.
    pub key_id: &'a str,
    /// The client's requestIdentifier, or the generated one.
    pub request_identifier: &'a RequestIdentifier,
    /// When the request was received; of a retry, when it was first received.
    pub received_at: Timestamp,
    /// Lambda's id of the invocation. It is not the client's requestIdentifier.
    pub request_id: &'a str,
}

impl<'a> BatchContext<'a> {
    /// The context of signals that an operator stores, without a request: no key and no invocation.
    pub fn without_request(
        account_id: &'a AccountId,
        request_identifier: &'a RequestIdentifier,
        received_at: Timestamp,
    ) -> Self {
        Self { account_id, key_id: "", request_identifier, received_at, request_id: "" }
    }
}
