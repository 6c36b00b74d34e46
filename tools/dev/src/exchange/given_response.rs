//! The response to a request: that of a function, or one that the gateway gives without a function.
//! Must not know when which response is given.

use axum::body::Bytes;
use axum::http::Response;

use crate::functions::BatchResult;

/// The response to a request.
pub(crate) struct GivenResponse {
    pub(crate) response: Response<Bytes>,
    /// Why the response is as it is, where the response does not say so itself.
    pub(crate) reason: Option<String>,
    /// What became of the batch, if a function could read one.
    pub(crate) batch: Option<BatchResult>,
}
