//! In which ways a call fails or is slow.

use std::time::Duration;

/// A way in which a call fails or is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 400 with this error code, nothing written.
    Refused(&'static str),
    /// An error with this status, code and message, nothing written.
    RefusedAs {
        status: u16,
        code: &'static str,
        message: &'static str,
    },
    /// A 500, as when the service fails. Nothing is written.
    InternalServerError,
    /// This status without a body, as of a proxy or a load balancer, nothing written.
    Status(u16),
    /// The clock of the service is so far ahead of this process, and each response has its time. A call whose
    /// signature is too old by that clock is refused, and nothing written. Other calls are done.
    ClockAhead(Duration),
    /// The connection is reset, nothing written.
    ResetBefore,
    /// The call is done, and the connection is reset instead of a response.
    ResetAfter,
    /// The call is done, and the response is a 500.
    ErrorAfter,
    /// The call is done, and its response ends before its last byte.
    CutBody,
    /// The call is done, and the response is a 200 with this body.
    ResponseReplaced(&'static str),
    /// The call is done, and its response has this header.
    ResponseHeader(&'static str, &'static str),
    /// The call is done, and the response comes this much later.
    Slow(Duration),
    /// Nothing is done, and there is no response, as long as the caller waits.
    Hanging,
    /// A `BatchWriteItem` is answered this much later as if it were done, and nothing is. Other
    /// calls are not faulted.
    Swallowed(Duration),
    /// Of a `BatchWriteItem` nothing is done, and everything is left unprocessed. Other calls are not
    /// faulted.
    Unprocessed,
}

impl Fault {
    /// The response to more calls than a table has capacity for. Nothing is written.
    pub const THROTTLED: Self = Self::Refused("ProvisionedThroughputExceededException");

    /// The response of S3 without a permission, also for a missing object without the permission to list.
    pub const FORBIDDEN: Self = Self::refused_as(403, "AccessDenied");

    /// An error with this status and code, nothing written.
    pub const fn refused_as(status: u16, code: &'static str) -> Self {
        Self::RefusedAs {
            status,
            code,
            message: "",
        }
    }
}
