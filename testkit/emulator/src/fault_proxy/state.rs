//! What the connections of a proxy share: its plan and its counts.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::watch;

use super::fault::Fault;
use super::message::Stream;
use super::plan::Plan;

/// The calls that passed a proxy so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls by operation (`PutItem`), each attempt counted, whatever came of it.
    pub operations: BTreeMap<String, u64>,
    /// How many of them were faulted.
    pub faulted: u64,
    /// Calls on a connection on which an earlier call was faulted.
    pub after_a_fault: u64,
}

impl CallCounts {
    /// Calls of one operation.
    pub fn calls_of(&self, operation: &str) -> u64 {
        self.operations.get(operation).copied().unwrap_or_default()
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.operations.values().sum()
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) upstream: SocketAddr,
    pub(super) state: Mutex<ProxyState>,
    pub(super) open: watch::Sender<usize>,
}

#[derive(Debug)]
pub(super) struct ProxyState {
    pub(super) plan: Plan,
    /// How many connections were accepted so far.
    pub(super) accepted: u64,
    /// The newest connection whose calls hang.
    pub(super) frozen: u64,
    /// The connections on which a call was faulted.
    faulted: HashSet<u64>,
    pub(super) counts: CallCounts,
}

impl Shared {
    pub(super) fn new(upstream: SocketAddr, plan: Plan) -> Self {
        let state = ProxyState {
            plan,
            accepted: 0,
            frozen: 0,
            faulted: HashSet::new(),
            counts: CallCounts::default(),
        };
        Self {
            upstream,
            state: Mutex::new(state),
            open: watch::Sender::new(0),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a new connection, from 1.
    pub(super) fn accept(&self) -> u64 {
        let mut state = self.state();
        state.accepted += 1;
        state.accepted
    }

    /// A connection to DynamoDB.
    pub(super) async fn connect(&self) -> io::Result<Stream> {
        let connection = TcpStream::connect(self.upstream).await?;
        Ok(Stream::new(connection))
    }

    /// Counts a call on the `connection`-th connection and chooses its fault.
    pub(super) fn decide(&self, connection: u64, operation: &str, body: &[u8]) -> Option<Fault> {
        let mut state = self.state();
        let calls = state
            .counts
            .operations
            .entry(operation.to_owned())
            .or_default();
        *calls += 1;
        let fault = if connection <= state.frozen {
            Some(Fault::Hanging)
        } else {
            state.plan.decide(operation, body)
        };
        if state.faulted.contains(&connection) {
            state.counts.after_a_fault += 1;
        }
        if fault.is_some() {
            state.counts.faulted += 1;
            state.faulted.insert(connection);
        }
        fault
    }
}
