//! The limits of a request's body (docs/api.md, Limits), each with its unit in its name. The limit
//! of an account id is in [`account`](crate::account).
//!
//! docs/api.md, `openapi.yaml` and the messages that name a limit are tested against these.

/// A body after decoding and decompression: 4 MiB. Lambda's event holds 6 MB with the body escaped.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Members of a gzip body (RFC 1952, section 2.2). Each starts a decompression, however small it
/// is.
pub const MAX_GZIP_MEMBERS: usize = 16;

/// The most signals that one request may have.
pub const MAX_SIGNALS_PER_REQUEST: usize = 500;

/// customerId, emitterId, eventType and stepNodeId, in Unicode scalar values.
pub const MAX_IDENTIFIER_CHARS: usize = 256;

/// The value of a profile field, in Unicode scalar values.
pub const MAX_PROFILE_VALUE_CHARS: usize = 1024;

/// The value of an unknown field of customerData, in characters of its JSON text.
pub const MAX_UNKNOWN_VALUE_CHARS: usize = 1024;

/// The name of an unknown field of customerData, in Unicode scalar values.
pub const MAX_UNKNOWN_NAME_CHARS: usize = 64;

/// Unknown fields of customerData in one request.
pub const MAX_UNKNOWN_FIELDS: usize = 20;

/// One signal as sent, in bytes of its JSON text: 256 KiB.
pub const MAX_SIGNAL_BYTES: usize = 256 * 1024;

/// Validation errors, and as many warnings, reported per signal (docs/api.md, Errors).
pub const MAX_ERRORS_PER_SIGNAL: usize = 5;

/// Validation errors, and as many warnings, reported per envelope or customer. Without this limit,
/// the response to a body full of errors would be many times its size.
pub const MAX_ERRORS_PER_REQUEST: usize = 100;

/// The pointer of an error, in bytes of the response. A deeper error is reported at the nearest
/// field above it whose pointer fits, so that the errors of 500 signals fit into the 6 MB that
/// Lambda allows for a response.
pub const MAX_POINTER_BYTES: usize = 256;

/// The name of a field that is stored, in bytes of UTF-8: DynamoDB's limit for the name of an
/// attribute.
pub const MAX_NAME_BYTES: usize = 65_535;

/// Significant digits of a number in DynamoDB.
pub const MAX_NUMBER_DIGITS: usize = 38;

/// Maps and lists around a value in DynamoDB, including the attribute itself.
pub const MAX_NESTING_DEPTH: usize = 31;
