//! What all messages of the overflow queue have in common: their version and their JSON. This
//! module must not know what is in one.

use model::never_accepted::NeverAccepted;
use serde::{Deserialize, Serialize};

/// The version of the messages that are written and read.
pub(super) const VERSION: u32 = 1;

/// Why a message is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// A newer version wrote it, and only that can read all of it.
    #[error("NewerMessage")]
    Newer,
    /// It is no message that this version, or a newer one, has written.
    #[error("UnreadableMessage")]
    Unreadable,
}

impl From<NeverAccepted> for MessageError {
    fn from(_: NeverAccepted) -> Self {
        Self::Unreadable
    }
}

/// The member `kind` of a message with signals.
pub(super) const BATCH: &str = "batch";

/// The member `kind` of a message with an update.
pub(super) const UPDATE: &str = "update";

#[derive(Serialize)]
struct Message<'m, M> {
    kind: &'static str,
    #[serde(flatten)]
    members: &'m M,
}

/// Writes a message as JSON.
pub(super) fn message(kind: &'static str, members: &impl Serialize) -> String {
    json(&Message { kind, members })
}

/// Reads a message, or a part of one.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, MessageError> {
    serde_json::from_str(text).map_err(|_| MessageError::Unreadable)
}

/// Writes a message, or a part of one, as JSON. SQS rejects U+FFFE and U+FFFF (`SendMessage` in the
/// SQS API reference), which JSON has only inside strings.
pub(super) fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("strings, numbers and lists of them serialize");
    if json.contains(['\u{fffe}', '\u{ffff}']) {
        json.replace('\u{fffe}', "\\ufffe")
            .replace('\u{ffff}', "\\uffff")
    } else {
        json
    }
}
