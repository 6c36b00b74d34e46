//! A request as the client sent it. Must not know what it means.

use axum::body::Bytes;
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, Method, Uri};
use service::body::{gunzip, is_gzip};

/// What the path of a batch ends with, also where its beginning is wrong.
const BATCH_PATH: &str = "/event-flows/signal";

/// A request, as the client sent it.
#[derive(Clone)]
pub(crate) struct SentRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: SentBody,
}

/// The body of a request, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SentBody {
    Whole(Bytes),
    /// It arrived, and is larger than what is kept.
    NotKept,
    /// It is larger than API Gateway accepts.
    TooLarge,
    /// The client sent so many bytes of it, and ended the connection or its half of it.
    CutOff {
        received: usize,
    },
    /// Its chunks are not what HTTP/1.1 calls chunked: the sentence of the HTTP library.
    Malformed(String),
    /// What arrived is no HTTP request.
    NoRequest,
}

impl SentBody {
    /// The whole body.
    pub(crate) fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::NotKept
            | Self::TooLarge
            | Self::CutOff { .. }
            | Self::Malformed(_)
            | Self::NoRequest => None,
        }
    }

    /// Why there is no body to show or to send again.
    pub(crate) fn why_missing(&self) -> Option<&'static str> {
        match self {
            Self::Whole(_) => None,
            Self::NotKept => Some("The body was too large to store."),
            Self::TooLarge => Some("The body is larger than API Gateway accepts."),
            Self::CutOff { .. } | Self::Malformed(_) => Some("The body did not arrive whole."),
            Self::NoRequest => Some("What arrived is no HTTP request."),
        }
    }
}

impl SentRequest {
    /// The body, decompressed where it is gzip. `None` if it is not kept, or if the functions would
    /// refuse to decompress it.
    pub(crate) fn decoded(&self) -> Option<Bytes> {
        let body = self.body.bytes()?;
        if !self.is_compressed() {
            return Some(body.clone());
        }
        gunzip(body).ok().map(Bytes::from)
    }

    /// The same request with another body, not compressed.
    pub(crate) fn with_body(mut self, body: Bytes) -> Self {
        self.headers.remove(CONTENT_ENCODING);
        self.body = SentBody::Whole(body);
        self
    }

    /// Whether the client sent a batch, also if its path is wrong.
    pub(crate) fn is_batch(&self) -> bool {
        self.method == Method::POST && self.uri.path().trim_end_matches('/').ends_with(BATCH_PATH)
    }

    /// Whether the functions decompress the body.
    pub(crate) fn is_compressed(&self) -> bool {
        matches!(is_gzip(&self.headers), Ok(true))
    }

    /// The path and the parameters.
    pub(crate) fn path(&self) -> &str {
        self.uri.path_and_query().map_or("/", |path| path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use model::limits::MAX_GZIP_MEMBERS;

    use super::*;

    /// A gzip member of no bytes (RFC 1952, section 2.3).
    const EMPTY_MEMBER: [u8; 20] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];

    /// The decoded body of a request with so many empty members.
    fn decoded(encoding: &'static str, members: usize) -> Option<Bytes> {
        let encoding = HeaderValue::from_static(encoding);
        let sent = SentRequest {
            method: Method::POST,
            uri: Uri::from_static("/api/event-flows/signal"),
            headers: [(CONTENT_ENCODING, encoding)].into_iter().collect(),
            body: SentBody::Whole(EMPTY_MEMBER.repeat(members).into()),
        };
        sent.decoded()
    }

    #[test]
    fn body_of_more_gzip_members_than_the_functions_take_is_not_decompressed() {
        assert_eq!(decoded("gzip", MAX_GZIP_MEMBERS), Some(Bytes::new()));
        assert_eq!(decoded("gzip", MAX_GZIP_MEMBERS + 1), None);
    }

    #[test]
    fn content_encoding_is_read_as_the_functions_read_it() {
        for encoding in ["GZIP", "X-Gzip", " gzip "] {
            assert_eq!(decoded(encoding, 1), Some(Bytes::new()), "{encoding}");
        }
        for encoding in ["Identity", "", "br", "gzip, gzip"] {
            let as_sent = Some(Bytes::from_static(&EMPTY_MEMBER));
            assert_eq!(decoded(encoding, 1), as_sent, "{encoding}");
        }
    }
}
