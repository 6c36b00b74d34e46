//! A DynamoDB that fails on purpose: a proxy between the functions and the emulator, for tests and
//! `cargo dev --faults`.
//!
//! It speaks HTTP/1.1 on loopback, knows of a call only its operation and its bytes, and does to
//! some calls what a [`Plan`] says. It answers no page of a browser. This module must not know
//! whether a function gets over a fault.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | `fault`, `plan` | the ways in which a call fails; which calls have which fault | how a fault is carried out |
//! | `connection`, `answer` | carrying out a fault: on a call, by an answer | why a call has it |
//! | `state` | the plan and the counts that connections share | how a fault is carried out |
//! | `message` | HTTP/1.1 messages | what is called |

mod answer;
mod connection;
mod fault;
mod message;
mod plan;
mod state;

use std::sync::Arc;

use anyhow::{Context as _, Result};

pub use self::fault::Fault;
pub use self::plan::{Plan, Rule};
pub use self::state::CallCounts;
use self::state::Shared;
use processes::loopback::LoopbackServer;

/// The proxy, on a port of its own, until it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    shared: Arc<Shared>,
    server: LoopbackServer,
}

impl FaultProxy {
    /// Starts a proxy before `upstream`, an URL such as `http://127.0.0.1:8000`, that fails as
    /// `plan` says.
    ///
    /// # Errors
    /// `upstream` is not such an URL, or loopback has no free port.
    pub async fn start(upstream: &str, plan: impl Into<Plan>) -> Result<Self> {
        let upstream = upstream
            .trim_start_matches("http://")
            .parse()
            .with_context(|| format!("{upstream} has no port"))?;
        let shared = Arc::new(Shared::new(upstream, plan.into()));
        let connected = Arc::clone(&shared);
        let serve = move |stream| {
            let shared = Arc::clone(&connected);
            shared.open.send_modify(|open| *open += 1);
            let number = shared.accept();
            async move {
                // Connections that break are expected here.
                let _ = connection::serve(stream, number, &shared).await;
                shared.open.send_modify(|open| *open -= 1);
            }
        };
        let server = LoopbackServer::start(serve).await?;
        Ok(Self { shared, server })
    }

    /// The URL to give to an SDK instead of the emulator's.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Fails as `plan` says from the next call on; what was counted stays.
    pub fn set(&self, plan: impl Into<Plan>) {
        self.shared.state().plan = plan.into();
    }

    /// Answers nothing any more on the connections that there are, as if the client had been frozen
    /// for so long that what is between forgot them. New ones are served.
    pub fn forget_connections(&self) {
        let mut state = self.shared.state();
        state.frozen = state.accepted;
    }

    /// The calls that passed the proxy so far.
    pub fn counts(&self) -> CallCounts {
        self.shared.state().counts.clone()
    }

    /// Waits until no connection is open: then nothing that a killed process sent is still on its
    /// way.
    pub async fn idle(&self) {
        let mut open = self.shared.open.subscribe();
        // Waiting cannot fail, because the sender is in `self`.
        let _ = open.wait_for(|open| *open == 0).await;
    }
}
