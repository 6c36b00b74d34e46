//! What clients noted, and what was found stored.

use std::collections::{BTreeMap, HashMap};

/// Microseconds since 1970.
pub type Micros = u64;

/// What a client knows of what it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A 200 came at this moment.
    Acknowledged(Micros),
    /// It was refused as a whole, and nothing of it may be stored.
    Refused,
    /// The client gave up: it may be stored or not, whole or in part.
    Unknown,
}

/// A request with signals, all its attempts together.
#[derive(Clone, Debug)]
pub struct Request {
    /// When its first attempt was sent.
    pub sent: Micros,
    /// What became of it.
    pub outcome: Outcome,
    /// Its signals, in their order.
    pub signals: Vec<Sent>,
}

/// A signal of a request.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Whose it is.
    pub who: u32,
    /// Whether the answer said that it was refused.
    pub refused: bool,
}

/// An update of a customer, all its attempts together.
#[derive(Clone, Debug)]
pub struct Update {
    /// Whose profile.
    pub customer: u32,
    /// When its first attempt was sent.
    pub sent: Micros,
    /// What became of it.
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
    /// In whose history it stands; `None` when it is nobody's who was sent.
    pub who: Option<u32>,
    /// The number of its request.
    pub request: u64,
    /// Its place in it.
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
