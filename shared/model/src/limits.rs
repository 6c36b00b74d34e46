//! Every limit of the contract (SPEC 2.6), each with its unit in its name.
//!
//! The README, `openapi.yaml` and the messages that name a limit are tested against these.

/// A body after decoding and decompression: 4 MiB. Lambda's event holds 6 MB with the body escaped.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Members of a gzip body (RFC 1952, section 2.2): each costs the start of a decompression, however little is in it.
pub const MAX_GZIP_MEMBERS: usize = 16;

/// Signals in one request.
pub const MAX_SIGNALS_PER_REQUEST: usize = 500;

/// customerId, emitterId, eventType and stepNodeId, in Unicode scalar values.
pub const MAX_IDENTIFIER_CHARS: usize = 256;

/// The value of a documented member of customerData, in Unicode scalar values.
pub const MAX_PROFILE_VALUE_CHARS: usize = 1024;

/// The value of an undocumented member of customerData, in characters of its JSON text.
pub const MAX_UNKNOWN_VALUE_CHARS: usize = 1024;

/// The name of an undocumented member of customerData, in Unicode scalar values.
pub const MAX_UNKNOWN_NAME_CHARS: usize = 64;

/// Undocumented members of customerData in one request.
pub const MAX_UNKNOWN_FIELDS: usize = 20;

/// One signal as sent, in bytes of its JSON text: 256 KiB.
pub const MAX_SIGNAL_BYTES: usize = 256 * 1024;

/// FieldErrors (and, apart from them, warnings) reported of one signal (SPEC 2.5).
pub const MAX_ERRORS_PER_SIGNAL: usize = 5;

/// FieldErrors (and, apart from them, warnings) reported of an envelope or a customer. The contract gives no number;
/// without one, a body of nothing but faults would have an answer many times its size.
pub const MAX_ERRORS_PER_REQUEST: usize = 100;

/// The path of a fault, in bytes as it travels in an answer. A deeper fault is reported at the nearest member above it
/// whose path fits, so that 500 signals full of faults still fit into the 6 MB that Lambda lets an answer have.
pub const MAX_POINTER_BYTES: usize = 256;

/// Significant digits of a number in DynamoDB.
pub const MAX_NUMBER_DIGITS: usize = 38;

/// Maps and lists around a value in DynamoDB, the attribute itself counted.
pub const MAX_NESTING_DEPTH: usize = 31;
