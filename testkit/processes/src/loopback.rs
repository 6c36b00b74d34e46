//! A TCP server on a free port of loopback, for what stands for AWS in tests and in `cargo dev`, and
//! how it tells a page of a browser from a program. This module must not know what is served.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Whether a request is not for this machine: a browser's page has sent it, or its `Host` is a name
/// that another machine chose to resolve to loopback. A page of any origin could otherwise read and
/// write what an emulator has.
pub fn is_foreign(has_origin: bool, host: Option<&str>) -> bool {
    let is_loopback = |host: &str| {
        let name = host.rsplit_once(':').map_or(host, |(name, _port)| name);
        ["127.0.0.1", "localhost"].contains(&name)
    };
    has_origin || host.is_some_and(|host| !is_loopback(host))
}

/// Accepts connections until it is stopped or dropped. Its connections end with it.
#[derive(Debug)]
pub struct LoopbackServer {
    /// Where it listens.
    pub address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl LoopbackServer {
    /// Has `serve` serve each connection.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start<S, F>(serve: S) -> Result<Self>
    where
        S: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("loopback has no free port")?;
        Self::start_on(listener, serve)
    }

    /// As [`LoopbackServer::start`], on a port that the caller has taken.
    ///
    /// # Errors
    /// When the port is unknown.
    pub fn start_on<S, F>(listener: TcpListener, serve: S) -> Result<Self>
    where
        S: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((stream, _)) = accepted else { continue };
                        // Small messages must not wait for the acknowledgement of the one before.
                        let _ = stream.set_nodelay(true);
                        connections.spawn(serve(stream));
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Self { address, accepting })
    }

    /// Ends all connections.
    pub async fn stop(&mut self) {
        self.accepting.abort();
        if !self.accepting.is_finished() {
            let _ = (&mut self.accepting).await;
        }
    }
}

impl Drop for LoopbackServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
