//! What the stack runs in place of AWS's services: the emulator of DynamoDB, the faults in front of
//! it, the overflow queue, and the S3 of the key snapshot. Must not know what the functions store.

pub(crate) mod dynamodb;
pub(crate) mod faults;
pub(crate) mod key_snapshot;
pub(crate) mod overflow_queue;
