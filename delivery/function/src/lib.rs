//! The delivery of stored signals and customer changes to an EventBridge bus, and to a lake through
//! Firehose.
//!
//! Lambda gives a function the records of one shard of a DynamoDB stream, in their order. When the
//! function does not deliver a record, Lambda gives it this record and all that follow again, for 23
//! hours. So every record is delivered at least once if its target is back by then. A record that
//! is delivered twice has the same `id` and `source` (`cloud_event`).
//!
//! `delivery/template.yaml` deploys this program twice, each time with the variable of one handler:
//!
//! | handler | function | what it does with the records of an event |
//! |---|---|---|
//! | `bus` | `BusFunction` | sends the CloudEvents to the bus with `event_bus`, or claim checks for them |
//! | `lake` | `LakeFunction` | sends the CloudEvents to Firehose with `firehose`, many to a record |
//!
//! Both are a straight line over the same parts:
//!
//! 1. `delivery` reads the records: `read_record` makes a CloudEvent of each. The failure bucket gets
//!    a record that is unreadable, and one whose CloudEvent the target does not accept; then the
//!    shard continues. This takes at most a third of the time.
//! 2. `send` divides the CloudEvents into calls of the target, and finds those that it refuses.
//! 3. The handler writes what the target refused to the failure bucket.
//! 4. `delivery` returns the first record that failed to Lambda, and `delivery_log` writes a line.
//!
//! The first record that fails in a step ends the delivery before this record, also for the later
//! steps. Neither handler knows of the other: the variable `LAKE_DATAREF` of `BusFunction` says what
//! a claim check says about a CloudEvent that the lake has. The tests of this crate:
//! `tests/integration/delivery`.

mod bus;
mod cloud_event;
mod delivery;
mod delivery_log;
pub mod delivery_metrics;
mod event_bus;
mod failure_bucket;
mod firehose;
mod lake;
mod plain_json;
mod read_record;
mod send;
mod stream_record;
mod target_clients;
mod target_error;

use aws::variables::{ConfigError, Variables};
use service::runtime::InvocationOutcome;
use service::runtime::batch_item_failures::PartialBatchResponse;

pub use self::bus::BusHandler;
pub use self::delivery::{Invocation, UnreadableEvent};
pub use self::lake::LakeHandler;

/// The handler that the variables select.
#[derive(Debug)]
pub enum Handler {
    Bus(BusHandler),
    Lake(LakeHandler),
}

impl Handler {
    /// The handler whose target the variables name.
    ///
    /// # Errors
    /// When they name no target or both, or no failure bucket, or `AWS_CA_BUNDLE` names a file that
    /// cannot be used.
    pub fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        let has_bus = variables.optional(bus::BUS_VARIABLE).is_some();
        let has_stream = variables.optional(lake::STREAM_VARIABLE).is_some();
        match (has_bus, has_stream) {
            (true, false) => BusHandler::from_variables(variables).map(Self::Bus),
            (false, true) => LakeHandler::from_variables(variables).map(Self::Lake),
            (false, false) | (true, true) => Err(ConfigError::NotOne {
                either: bus::BUS_VARIABLE,
                or: lake::STREAM_VARIABLE,
            }),
        }
    }

    /// Delivers the records of an event, and writes a line to the log. Returns the first record that
    /// is to be delivered again.
    ///
    /// # Errors
    /// When the payload is not an event of a stream.
    pub async fn deliver(
        &self,
        invocation: Invocation<'_>,
    ) -> Result<InvocationOutcome<PartialBatchResponse>, UnreadableEvent> {
        match self {
            Self::Bus(handler) => handler.deliver(invocation).await,
            Self::Lake(handler) => handler.deliver(invocation).await,
        }
    }
}
