//! What all items of one batch have in common.

use model::account::AccountId;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;

/// The origin of a batch: whose it is, and which request and invocation it came with.
#[derive(Clone, Copy, Debug)]
pub struct BatchContext<'a> {
    pub account_id: &'a AccountId,
    /// The API key, for the operator.
    pub key_id: &'a str,
    /// The client's requestIdentifier, or the generated one.
    pub request_identifier: &'a RequestIdentifier,
    /// When the first attempt of the request was received, as far as is known. The keys of the items
    /// contain it.
    pub first_received_at: Timestamp,
    /// Lambda's id of the invocation that writes the items.
    pub request_id: &'a str,
}
