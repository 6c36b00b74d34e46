//! The messages of the overflow queue: what a function accepted and DynamoDB did not acknowledge in
//! time. The overflow function stores it later (docs/outages.md, The overflow queue).
//!
//! This module must not know when signals and updates are deferred.

mod deferred_batch;
mod deferred_update;
mod format;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

pub use self::deferred_batch::{DeferredBatch, DeferredSignal, batch_messages};
pub use self::deferred_update::{DeferredUpdateHead, update_message};
pub use self::format::MessageError;
use self::format::{BATCH, UPDATE, VERSION, read};

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

/// The members of a message that say whether this version can read it, and what it holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageHead<'a> {
    version: u32,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    customer_data: Option<IgnoredAny>,
}

impl<'a> Deferred<'a> {
    /// Reads a message. Versions up to November 2026 wrote messages without a kind.
    ///
    /// # Errors
    /// [`MessageError`]
    pub fn parse(text: &'a str) -> Result<Self, MessageError> {
        let head: MessageHead<'a> = read(text)?;
        if head.version > VERSION {
            return Err(MessageError::Newer);
        }
        match head.kind.as_deref() {
            Some(BATCH) => read(text).map(Self::Batch),
            Some(UPDATE) => read(text).map(Self::Update),
            Some(_) => Err(MessageError::Newer),
            None if head.customer_data.is_some() => read(text).map(Self::Update),
            None => read(text).map(Self::Batch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &str) -> MessageError {
        Deferred::parse(message).expect_err(message)
    }

    #[test]
    fn message_of_an_unknown_kind_or_version_is_newer_and_of_a_known_one_unreadable() {
        let with_kind = |kind: &str| format!(r#"{{"version":1,"kind":"{kind}","accountId":1}}"#);
        assert_eq!(error(&with_kind("erasure")), MessageError::Newer);
        assert_eq!(error(&with_kind("batch")), MessageError::Unreadable);
        assert_eq!(
            error(r#"{"version":2,"kind":"batch"}"#),
            MessageError::Newer
        );
        assert_eq!(error(r#"{"version":2}"#), MessageError::Newer);
        for unreadable in ["", "{}", "[]", r#"{"version":1}"#, r#"{"version":"1"}"#] {
            assert_eq!(error(unreadable), MessageError::Unreadable);
        }
    }
}
