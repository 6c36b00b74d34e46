//! HTTP/1.1 messages down to their bytes, since a fault may cut or reset them. A message that comes
//! in chunks is handed on with a Content-Length.

use std::io::{self, ErrorKind};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// More header lines than the SDK, the emulator or Lambda's runtime send.
const MAX_HEADERS: usize = 64;

/// What is read at once, at least.
const READ_BYTES: usize = 16 * 1024;

/// A request or an answer.
#[derive(Clone, Debug)]
pub(super) struct HttpMessage {
    /// The request line or the status line.
    pub(super) first_line: String,
    /// Names in lower case. `content-length` and `transfer-encoding` are not among them: what is
    /// sent has a length, which follows from the body.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl HttpMessage {
    /// An answer with this status line, such as `200 OK`.
    pub(super) fn answer(status: &str, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Self {
            first_line: format!("HTTP/1.1 {status}"),
            headers,
            body: body.into(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|header| header.0 == name)
            .map(|header| header.1.as_str())
    }

    /// What is called, such as `PutItem`.
    pub(super) fn operation(&self) -> &str {
        self.header("x-amz-target")
            .and_then(|target| target.rsplit('.').next())
            .unwrap_or_default()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.first_line).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A connection on which messages come one after another.
#[derive(Debug)]
pub(super) struct Stream {
    tcp: TcpStream,
    read: Vec<u8>,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream) -> Self {
        // An answer shall not wait for the acknowledgement of the one before.
        let _ = tcp.set_nodelay(true);
        Self {
            tcp,
            read: Vec::new(),
        }
    }

    /// The next message; `None` when the other side has closed before one began.
    pub(super) async fn next(&mut self) -> io::Result<Option<HttpMessage>> {
        loop {
            if let Some(message) = take(&mut self.read)? {
                return Ok(Some(message));
            }
            self.read.reserve(READ_BYTES);
            let count = self.tcp.read_buf(&mut self.read).await?;
            if count > 0 {
                continue;
            }
            return if self.read.is_empty() {
                Ok(None)
            } else {
                Err(ErrorKind::UnexpectedEof.into())
            };
        }
    }

    /// Sends a call, and returns its answer.
    pub(super) async fn call(&mut self, call: &HttpMessage) -> io::Result<HttpMessage> {
        self.send(call).await?;
        let answer = self.next().await?;
        Ok(answer.ok_or(ErrorKind::ConnectionAborted)?)
    }

    pub(super) async fn send(&mut self, message: &HttpMessage) -> io::Result<()> {
        self.send_bytes(&message.to_bytes()).await
    }

    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tcp.write_all(bytes).await
    }

    /// Waits until the other side has closed, whatever it still says.
    pub(super) async fn closed(&mut self) {
        loop {
            let read = self.tcp.read_buf(&mut self.read).await;
            if matches!(read, Ok(0) | Err(_)) {
                return;
            }
        }
    }

    /// Ends the connection so that the other side reads an error and no end.
    pub(super) fn reset(self) -> io::Result<()> {
        self.tcp.set_zero_linger()
    }
}

/// A whole message out of what was read, if there is one.
fn take(read: &mut Vec<u8>) -> io::Result<Option<HttpMessage>> {
    let Some(line_end) = read.windows(2).position(|bytes| bytes == b"\r\n") else {
        return Ok(None);
    };
    let after_line = line_end.saturating_add(2);
    let Some((first_line, rest)) = read.split_at_checked(after_line) else {
        return Ok(None);
    };
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let (headers_length, headers) = match httparse::parse_headers(rest, &mut headers) {
        Ok(httparse::Status::Complete(complete)) => complete,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(ErrorKind::InvalidData.into()),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut headers: Vec<_> = headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), text(header.value)))
        .collect();
    let begin = after_line.saturating_add(headers_length);
    let after_headers = read.get(begin..).unwrap_or_default();
    let Some(Body { bytes, length }) = take_body(after_headers, &headers)? else {
        return Ok(None);
    };
    headers.retain(|header| header.0 != "content-length" && header.0 != "transfer-encoding");
    let message = HttpMessage {
        first_line: text(first_line.trim_ascii_end()),
        headers,
        body: bytes,
    };
    read.drain(..begin.saturating_add(length));
    Ok(Some(message))
}

/// The body of a message.
struct Body {
    bytes: Vec<u8>,
    /// How many bytes it took on the connection.
    length: usize,
}

/// The body behind these headers, if it has arrived whole (RFC 9112, section 6).
fn take_body(read: &[u8], headers: &[(String, String)]) -> io::Result<Option<Body>> {
    let value_of = |name| headers.iter().find(|header| header.0 == name);
    if value_of("transfer-encoding").is_some_and(|header| header.1 == "chunked") {
        return take_chunks(read);
    }
    let length: usize = match value_of("content-length") {
        Some((_, text)) => text.parse().map_err(|_| ErrorKind::InvalidData)?,
        None => 0,
    };
    Ok(read.get(..length).map(|bytes| Body {
        bytes: bytes.to_vec(),
        length,
    }))
}

/// The chunks of a body, without trailers (RFC 9112, section 7.1).
fn take_chunks(read: &[u8]) -> io::Result<Option<Body>> {
    let mut bytes = Vec::new();
    let mut length = 0_usize;
    loop {
        let rest = read.get(length..).unwrap_or_default();
        let (line_length, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(complete)) => complete,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(ErrorKind::InvalidData.into()),
        };
        let size = usize::try_from(size).map_err(|_| ErrorKind::InvalidData)?;
        let end = line_length.saturating_add(size);
        let after_end = end.saturating_add("\r\n".len());
        let (Some(chunk), Some(_)) = (rest.get(line_length..end), rest.get(end..after_end)) else {
            return Ok(None);
        };
        bytes.extend_from_slice(chunk);
        length = length.saturating_add(after_end);
        if size == 0 {
            return Ok(Some(Body { bytes, length }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n\
                        Content-Length: 2\r\n\r\n{}";

    #[test]
    fn message_that_has_not_arrived_whole_is_left_where_it_is() {
        for end in 0..CALL.len() {
            let mut read = CALL.as_bytes()[..end].to_vec();
            assert!(take(&mut read).unwrap().is_none(), "{end} bytes");
            assert_eq!(read.len(), end);
        }
    }

    #[test]
    fn two_messages_that_arrive_together_are_taken_one_after_the_other() {
        let mut read = format!("{CALL}HTTP/1.1 200 OK\r\n\r\n").into_bytes();
        let call = take(&mut read).unwrap().unwrap();
        assert_eq!(call.first_line, "POST / HTTP/1.1");
        assert_eq!(call.operation(), "PutItem");
        assert_eq!(call.body, b"{}");
        let answer = take(&mut read).unwrap().unwrap();
        assert_eq!(answer.first_line, "HTTP/1.1 200 OK");
        assert_eq!(answer.body, b"");
        assert!(read.is_empty());
    }

    #[test]
    fn message_in_chunks_is_taken_whole_and_sent_with_its_length() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                       3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
        for end in 0..chunked.len() {
            let mut read = chunked.as_bytes()[..end].to_vec();
            assert!(take(&mut read).unwrap().is_none(), "{end} bytes");
        }
        let mut read = format!("{chunked}{CALL}").into_bytes();
        let answer = take(&mut read).unwrap().unwrap();
        assert_eq!(answer.body, b"{\"a\":1}");
        assert_eq!(read, CALL.as_bytes());
        let mut sent = answer.to_bytes();
        assert!(String::from_utf8_lossy(&sent).contains("content-length: 7"));
        assert_eq!(take(&mut sent).unwrap().unwrap().body, answer.body);
        let mut broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n".to_vec();
        let error = take(&mut broken).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn message_is_sent_as_it_was_received() {
        let mut read = CALL.as_bytes().to_vec();
        let mut sent = take(&mut read).unwrap().unwrap().to_bytes();
        let again = take(&mut sent).unwrap().unwrap();
        assert_eq!(
            again.header("x-amz-target"),
            Some("DynamoDB_20120810.PutItem")
        );
        assert_eq!(again.body, b"{}");
        assert!(sent.is_empty());
    }

    #[test]
    fn content_length_that_is_no_number_is_an_error() {
        let mut read = b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}".to_vec();
        let error = take(&mut read).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
