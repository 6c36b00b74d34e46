//! What clients sent and received, and what was found stored. This module must not know what is
//! correct.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Microseconds since 1970.
pub type Micros = u64;

/// The longest time after which an abandoned call may still take effect, and a margin.
pub const LATE_CALLS: Duration = Duration::from_secs(5);

/// What a client knows about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientOutcome {
    /// A 200 was received at this time.
    Acknowledged(Micros),
    /// It was rejected as a whole: nothing of it may be stored.
    Rejected,
    /// The client stopped retrying: the request may be stored, in part or not at all.
    Unknown,
}

/// A request with signals, all its attempts together.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// When its first attempt was sent.
    pub sent: Micros,
    pub outcome: ClientOutcome,
    /// The requestIdentifier, if the client named one.
    pub identifier: Option<String>,
    /// The latest time that the clock of a process may have shown while it served it.
    pub latest_clock: Micros,
    /// Its signals, in their order.
    pub signals: Vec<SentSignal>,
}

/// A signal of a request.
#[derive(Clone, Debug)]
pub struct SentSignal {
    /// The customer or emitter.
    pub subject: u32,
    /// Whether the response says that it was rejected.
    pub is_rejected: bool,
    /// What its item, or its rejected signal, has to hold.
    pub content: String,
}

/// An update of a customer, all its attempts together.
#[derive(Clone, Debug)]
pub struct RecordedUpdate {
    pub customer: u32,
    /// When its first attempt was sent.
    pub sent: Micros,
    pub outcome: ClientOutcome,
    /// The latest time that the clock of a process may have shown while it served it.
    pub latest_clock: Micros,
    /// Whether it was acknowledged as deferred: then the clocks of the processes order it and the
    /// direct updates of its fields.
    pub is_deferred: bool,
    /// Whether the client sent it again: then the clocks of the processes order an earlier attempt,
    /// which may take effect late, and the direct updates of its fields.
    pub is_repeated: bool,
    /// Whether it erased the customer, when it was sent and when it was acknowledged.
    pub is_erasure: bool,
    /// What each field was set to, or that it was removed.
    pub fields: Vec<(&'static str, Option<String>)>,
}

/// What the clients of a run recorded: all that was sent, with its outcomes.
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    /// Requests with signals, by their number.
    pub requests: BTreeMap<u64, RecordedRequest>,
    /// Updates of customers.
    pub updates: Vec<RecordedUpdate>,
    /// Requests whose rejected signals could not be stored, as the functions logged.
    pub unkept: u64,
}

/// A signal as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSignal {
    /// The customer or emitter; `None` when no client sent it.
    pub subject: Option<u32>,
    /// The number of its request.
    pub request: u64,
    /// Its index in the request.
    pub index: u64,
    /// What its item holds.
    pub content: String,
    /// Its requestIdentifier.
    pub identifier: String,
    /// The time of its arrival.
    pub received_at: Micros,
    /// What does not fit together in its item, such as a key of another time.
    pub contradiction: Option<&'static str>,
}

/// A rejected signal as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRejectedSignal {
    /// The number of its request.
    pub request: u64,
    /// Its index in the request.
    pub index: u64,
    /// Its text.
    pub content: String,
}

/// All that was found stored at the end of a run.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Signals, one history after another, each in the order in which it is read.
    pub signals: Vec<StoredSignal>,
    /// Rejected signals.
    pub rejected: Vec<StoredRejectedSignal>,
    /// The fields of each customer.
    pub customers: HashMap<u32, HashMap<String, String>>,
}
