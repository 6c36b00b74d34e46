//! Reads the body of a client's request. Must not know the response to a body that cannot be
//! read.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use http_body_util::BodyExt as _;

use crate::exchange::sent_request::SentBody;

/// The largest body that API Gateway takes, in megabytes ("Amazon API Gateway quotas").
pub(super) const MAX_BODY_MEGABYTES: usize = 10;

const MAX_GATEWAY_BODY_BYTES: usize = MAX_BODY_MEGABYTES * 1024 * 1024;

/// How much is read of a body that is too large. Many clients read no response before they have
/// sent their body: if the connection closed meanwhile, they would see a broken pipe instead of the
/// 413. What they send beyond this is not read.
const MAX_READ_BYTES: usize = 128 * 1024 * 1024;

/// How long the rest of a body that is too large is read, like `lingering_time` of nginx.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the body of a request with these headers.
pub(super) async fn read_body(headers: &HeaderMap, mut body: Body) -> SentBody {
    let declared = body.size_hint().lower();
    let is_too_large = usize::try_from(declared).is_ok_and(|bytes| bytes > MAX_GATEWAY_BODY_BYTES);
    // This client waits for a 100 before it sends the body, and gets the 413 instead.
    if is_too_large && headers.contains_key(EXPECT) {
        return SentBody::TooLarge;
    }
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return unreadable(&error, read.len()),
        };
        if let Some(data) = frame.data_ref() {
            read.extend_from_slice(data);
        }
        if read.len() > MAX_GATEWAY_BODY_BYTES {
            discard(body, MAX_READ_BYTES - MAX_GATEWAY_BODY_BYTES).await;
            return SentBody::TooLarge;
        }
    }
    SentBody::Whole(read.into())
}

/// Reads what follows of a body, up to a number of bytes and for [`DISCARD_TIMEOUT`].
async fn discard(mut body: Body, most: usize) {
    let reading = async {
        let mut left = most;
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    // A client that takes longer gets the 413, too, if it still reads.
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, reading).await;
}

/// Why a body cannot be read after so many bytes of it. hyper says it by the kind of an I/O error.
fn unreadable(error: &axum::Error, received: usize) -> SentBody {
    match io_error_of(error) {
        Some(error) if is_syntax_error(error.kind()) => SentBody::Malformed(error.to_string()),
        _ => SentBody::CutOff { received },
    }
}

fn is_syntax_error(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::InvalidData)
}

fn io_error_of(error: &axum::Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        cause = error.source();
    }
    None
}
