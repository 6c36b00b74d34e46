//! What the stack runs in place of AWS's services: the emulator of DynamoDB, the faults in front of
//! it, and the overflow queue. Must not know what the functions store.

pub(crate) mod dynamodb;
pub(crate) mod faults;
pub(crate) mod overflow_queue;
