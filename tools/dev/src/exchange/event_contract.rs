//! What an event contract says of a signal, as the program `contracts` writes it and the inspector
//! shows it. An event contract is a JSON Schema of the `data` of one type. Must not know what a
//! schema says.

use serde::{Deserialize, Serialize};

/// Whether the data of a signal keeps the event contract of its type.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(tag = "contract")]
pub(crate) enum EventContractVerdict {
    #[serde(rename = "ok")]
    Kept,
    #[serde(rename = "broken")]
    Broken { breaks: Vec<EventContractBreak> },
    /// The type of the signal has no event contract.
    #[serde(rename = "none")]
    NoContract,
}

/// What breaks an event contract.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct EventContractBreak {
    /// The place in `data`, as a JSON Pointer (RFC 6901).
    pub(crate) pointer: String,
    /// A sentence without the value.
    pub(crate) message: String,
}

impl EventContractVerdict {
    /// What breaks the event contract, if anything does.
    pub(crate) fn breaks(&self) -> &[EventContractBreak] {
        match self {
            Self::Broken { breaks } => breaks,
            Self::Kept | Self::NoContract => &[],
        }
    }

    /// How much memory the breaks take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let bytes_of = |one: &EventContractBreak| {
            size_of::<EventContractBreak>() + one.pointer.len() + one.message.len()
        };
        self.breaks().iter().map(bytes_of).sum()
    }
}
