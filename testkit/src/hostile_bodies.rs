//! Requests within the limits that cost as much memory and processor time as possible. Must not know what they may cost:
//! that is asserted where it is measured.

mod body;
mod customers;
mod encoded;
mod signals;

pub use self::body::HostileBody;

/// All of them, for a DynamoDB without faults.
pub fn all() -> impl Iterator<Item = HostileBody> {
    [customers::BODIES, signals::BODIES, encoded::BODIES].concat().into_iter()
}

/// Those that cost the most when DynamoDB returns all of their signals unprocessed, each time they are sent.
pub fn unprocessed() -> impl Iterator<Item = HostileBody> {
    signals::UNPROCESSED.iter().copied()
}
