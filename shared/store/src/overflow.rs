//! The messages of the overflow queue: what a function accepted and DynamoDB did not acknowledge in time. The overflow function
//! stores it later (docs/reliability.md, Overflow).
//!
//! This module must not know when signals and updates are deferred.

mod deferred_batch;
mod deferred_update;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

pub use self::deferred_batch::{DeferredBatch, DeferredSignal};
pub use self::deferred_update::DeferredUpdate;

/// The version of the messages that this version writes, and the highest that it reads.
const VERSION: u32 = 1;

/// What a message of the overflow queue holds.
#[derive(Clone, Debug)]
pub enum Deferred<'a> {
    /// Signals of one request, with what it takes to write their items.
    Batch(DeferredBatch<'a>),
    /// The update of a customer.
    Update(DeferredUpdate<'a>),
}

/// Why a message is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// A newer version wrote it, and only that can read all of it.
    #[error("NewerMessage")]
    Newer,
    /// It is not a message of any version up to this one.
    #[error("UnreadableMessage")]
    Unreadable,
}

/// What tells messages apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    /// The first messages had none.
    #[serde(default)]
    version: u32,
    customer_data: Option<IgnoredAny>,
}

impl<'a> Deferred<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// [`MessageError`]
    pub fn parse(text: &'a str) -> Result<Self, MessageError> {
        let Kind { version, customer_data } = read(text)?;
        match customer_data {
            _ if version > VERSION => Err(MessageError::Newer),
            None => read(text).map(Self::Batch),
            Some(_) => read(text).map(Self::Update),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, MessageError> {
    serde_json::from_str(text).map_err(|_| MessageError::Unreadable)
}

/// As JSON. SQS rejects U+FFFE and U+FFFF (`SendMessage` in the SQS API reference), which JSON has only inside strings.
fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("strings, numbers and lists of them serialize");
    if json.contains(['\u{fffe}', '\u{ffff}']) {
        json.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
    } else {
        json
    }
}
