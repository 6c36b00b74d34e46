//! What the caller of a call gets.

use super::dynamodb::Response;

/// What the caller of a call gets.
pub(crate) enum CallOutcome {
    Response(Response),
    /// A body that is not JSON: an object of S3, or a response that was cut.
    Bytes {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    ConnectionLost,
    Never,
}
