//! What clients sent and received, and what was found stored. Must not know what is correct.

use std::collections::{BTreeMap, HashMap};

/// Microseconds since 1970.
pub type Micros = u64;

/// What a client knows about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A 200 was received at this time.
    Acknowledged(Micros),
    /// It was rejected as a whole: nothing of it may be stored.
    Refused,
    /// The client gave up: it may be stored or not, whole or in part.
    Unknown,
}

/// A request with signals, all its attempts together.
#[derive(Clone, Debug)]
pub struct Request {
    /// When its first attempt was sent.
    pub sent: Micros,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its signals, in their order.
    pub signals: Vec<Sent>,
}

/// A signal of a request.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The customer or emitter.
    pub who: u32,
    /// Whether the response says that it was rejected.
    pub refused: bool,
}

/// An update of a customer, all its attempts together.
#[derive(Clone, Debug)]
pub struct Update {
    /// Whose profile.
    pub customer: u32,
    /// When its first attempt was sent.
    pub sent: Micros,
    /// Its outcome.
    pub outcome: Outcome,
    /// What each field was set to, or that it was removed.
    pub fields: Vec<(&'static str, Option<String>)>,
}

/// All that was sent.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Requests with signals, by their number.
    pub requests: BTreeMap<u64, Request>,
    /// Updates of customers.
    pub updates: Vec<Update>,
}

/// A signal as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredSignal {
    /// The customer or emitter; `None` when no client sent it.
    pub who: Option<u32>,
    /// The number of its request.
    pub request: u64,
    /// Its index in the request.
    pub index: u64,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Signals, one history after another, each in the order in which it is read.
    pub signals: Vec<StoredSignal>,
    /// The fields of each customer.
    pub customers: HashMap<u32, HashMap<String, String>>,
}
