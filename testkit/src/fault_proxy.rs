//! A DynamoDB that fails on purpose: a proxy between the functions and the emulator.
//!
//! It speaks HTTP/1.1 on loopback, knows of a call only its operation and its bytes, and does to some calls what a
//! [`Plan`] says. It forgives nothing and repairs nothing: whether a fault can be got over is for those in front of it.

mod connection;
mod message;
mod plan;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub(crate) use message::{Message, Stream};
pub use plan::{Fault, Plan, Rule};

/// The proxy, on a port of its own, until it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What went through a proxy so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls by operation (`PutItem`), each attempt counted, whatever came of it.
    pub operations: BTreeMap<String, u64>,
    /// How many of them were faulted.
    pub faulted: u64,
}

impl Counts {
    /// Calls of one operation.
    #[must_use]
    pub fn of(&self, operation: &str) -> u64 {
        self.operations.get(operation).copied().unwrap_or_default()
    }

    /// All calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.operations.values().sum()
    }
}

#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    state: Mutex<State>,
    open: watch::Sender<usize>,
    /// Connections so far.
    accepted: AtomicU64,
    /// The newest connection that is not answered any more.
    frozen: AtomicU64,
}

#[derive(Debug)]
struct State {
    plan: Plan,
    counts: Counts,
    late: Vec<Message>,
}

impl Shared {
    fn hold(&self, call: Message) {
        self.state().late.push(call);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call on the `connection`-th connection, and says what is to be done to it.
    fn decide(&self, connection: u64, operation: &str, body: &[u8]) -> Option<Fault> {
        let mut state = self.state();
        let calls = state.counts.operations.entry(operation.to_owned()).or_default();
        *calls = calls.saturating_add(1);
        let frozen = connection <= self.frozen.load(Ordering::Relaxed);
        let fault = if frozen { Some(Fault::Stall) } else { state.plan.decide(operation, body) };
        if fault.is_some() {
            state.counts.faulted = state.counts.faulted.saturating_add(1);
        }
        fault
    }
}

impl FaultProxy {
    /// Starts a proxy before `upstream`, an URL such as `http://127.0.0.1:8000`, that fails as `plan` says.
    pub async fn start(upstream: &str, plan: impl Into<Plan>) -> Self {
        let upstream = upstream.trim_start_matches("http://").parse().expect("an address of loopback");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Mutex::new(State { plan: plan.into(), counts: Counts::default(), late: Vec::new() });
        let shared = Arc::new(Shared {
            upstream,
            state,
            open: watch::Sender::new(0),
            accepted: AtomicU64::new(0),
            frozen: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Self { address, shared, accepting }
    }

    /// The URL to give to an SDK instead of the emulator's.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Fails as `plan` says from the next call on; what was counted stays.
    pub fn set(&self, plan: impl Into<Plan>) {
        self.shared.state().plan = plan.into();
    }

    /// Answers nothing any more on the connections that there are, as if the client had been frozen for so long that what
    /// is between forgot them. New ones are served.
    pub fn forget_connections(&self) {
        self.shared.frozen.store(self.shared.accepted.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Has the calls done that [`Fault::Late`] held back; how many they were.
    pub async fn apply_late(&self) -> usize {
        let late = std::mem::take(&mut self.shared.state().late);
        for call in &late {
            let mut upstream = Stream::new(TcpStream::connect(self.shared.upstream).await.unwrap());
            connection::forward(&mut upstream, call).await.unwrap();
        }
        late.len()
    }

    /// What went through so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.state().counts.clone()
    }

    /// Waits until no connection is open: then nothing that a process which has ended sent is still on its way.
    pub async fn idle(&self) {
        // The sender is in `self`, so that waiting cannot fail.
        let _ = self.shared.open.subscribe().wait_for(|open| *open == 0).await;
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        // Its connections are in a set of its own, and end with it.
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                shared.open.send_modify(|open| *open = open.saturating_add(1));
                let number = shared.accepted.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                let shared = shared.clone();
                connections.spawn(async move {
                    // A connection that breaks is what this is about.
                    let _ = connection::serve(stream, number, &shared).await;
                    shared.open.send_modify(|open| *open = open.saturating_sub(1));
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
