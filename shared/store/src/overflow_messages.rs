//! The messages of the overflow queue: what a function accepted and DynamoDB did not acknowledge in
//! time. The overflow function stores it later (docs/reliability.md, Overflow).
//!
//! This module must not know when signals and updates are deferred.

mod deferred_batch;
mod deferred_update;
mod format;

use serde::Deserialize;
use serde::de::IgnoredAny;

pub use self::deferred_batch::{DeferredBatch, DeferredSignal, batch_messages};
pub use self::deferred_update::{DeferredUpdateHead, update_message};
pub use self::format::MessageError;
use self::format::{VERSION, read};

/// The environment variable with the URL of the overflow queue. A stack may have none.
pub const QUEUE_VARIABLE: &str = "OVERFLOW_QUEUE_URL";

/// The environment variable with the URL of the dead-letter queue of the overflow queue.
pub const DEAD_LETTER_QUEUE_VARIABLE: &str = "DEAD_LETTER_QUEUE_URL";

/// What a message of the overflow queue holds.
#[derive(Clone, Debug)]
pub enum Deferred<'a> {
    /// Signals of one request, with what it takes to write their items.
    Batch(DeferredBatch<'a>),
    /// An update of a customer. The changes are read from the same text, like the body of a request.
    Update(DeferredUpdateHead<'a>),
}

/// The members of a message that say what it holds and whether this version can read it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageHead {
    version: u32,
    customer_data: Option<IgnoredAny>,
}

impl<'a> Deferred<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// [`MessageError`]
    pub fn parse(text: &'a str) -> Result<Self, MessageError> {
        let MessageHead {
            version,
            customer_data,
        } = read(text)?;
        if version > VERSION {
            return Err(MessageError::Newer);
        }
        match customer_data {
            None => read(text).map(Self::Batch),
            Some(_) => read(text).map(Self::Update),
        }
    }
}
