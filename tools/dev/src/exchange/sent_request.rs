//! A request as the client sent it. Must not know what it means.

use std::io::Read as _;

use axum::body::Bytes;
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, Method, Uri};
use emulator::development_key::API_KEY;
use flate2::read::MultiGzDecoder;
use model::limits::MAX_BODY_BYTES;

/// How much of a compressed body is decompressed, in bytes. It is more than the functions accept,
/// so that a body that is too large for them is still too large when a part of it is cut off.
const MAX_DECODED_BYTES: u64 = 2 * MAX_BODY_BYTES as u64;

/// What the path of a batch ends with, also where its beginning is wrong.
const BATCH_PATH: &str = "/event-flows/signal";

/// A request, as the client sent it.
#[derive(Clone)]
pub(crate) struct SentRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// `None` if it is larger than API Gateway accepts, or than what is kept.
    pub(crate) body: Option<Bytes>,
}

impl SentRequest {
    /// The body, decompressed where it is gzip.
    pub(crate) fn decoded(&self) -> Option<Bytes> {
        let body = self.body.as_ref()?;
        if !self.is_compressed() {
            return Some(body.clone());
        }
        let mut decoded = Vec::new();
        let read = MultiGzDecoder::new(&body[..])
            .take(MAX_DECODED_BYTES)
            .read_to_end(&mut decoded);
        read.ok().map(|_| decoded.into())
    }

    /// The same request with another body, not compressed.
    pub(crate) fn with_body(mut self, body: Bytes) -> Self {
        self.headers.remove(CONTENT_ENCODING);
        self.body = Some(body);
        self
    }

    /// Whether the client sent a batch, also if its path is wrong.
    pub(crate) fn is_batch(&self) -> bool {
        self.method == Method::POST && self.uri.path().trim_end_matches('/').ends_with(BATCH_PATH)
    }

    /// Whether the body is compressed with gzip.
    pub(crate) fn is_compressed(&self) -> bool {
        self.headers
            .get(CONTENT_ENCODING)
            .is_some_and(|encoding| encoding == "gzip" || encoding == "x-gzip")
    }

    /// The path and the parameters, without the key.
    pub(crate) fn path(&self) -> String {
        self.uri
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .replace(API_KEY, "$API_KEY")
    }
}
