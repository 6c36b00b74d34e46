//! A connection that remembers how the request begins that is read from it. The HTTP library does
//! not say what it refuses. Must not know what a request is.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How many bytes are remembered.
const MAX_BYTES: usize = 512;

/// A connection to a client.
pub(super) struct RecordedStream {
    stream: TcpStream,
    pub(super) head: HeadStart,
}

/// The bytes with which the newest request begins.
#[derive(Clone, Default)]
pub(super) struct HeadStart(Arc<Mutex<Recorded>>);

#[derive(Default)]
struct Recorded {
    bytes: Vec<u8>,
    /// Whether a response was written since: then the next byte begins a request.
    has_response: bool,
}

impl HeadStart {
    pub(super) fn start(&self) -> Vec<u8> {
        self.recorded().bytes.clone()
    }

    fn add(&self, read: &[u8]) {
        let mut recorded = self.recorded();
        if recorded.has_response {
            *recorded = Recorded::default();
        }
        let room = MAX_BYTES.saturating_sub(recorded.bytes.len());
        recorded.bytes.extend(read.iter().take(room));
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordedStream {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            head: HeadStart::default(),
        }
    }
}

impl AsyncRead for RecordedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().get(before..).unwrap_or_default();
        if !read.is_empty() {
            self.head.add(read);
        }
        polled
    }
}

impl AsyncWrite for RecordedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.head.recorded().has_response = true;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.head.recorded().has_response = true;
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
