//! A TCP server on a free port of loopback. Must not know what is said on a connection.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

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
        let listener = TcpListener::bind("127.0.0.1:0").await.context("loopback has no free port")?;
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
