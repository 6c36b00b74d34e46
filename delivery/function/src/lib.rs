//! The delivery of stored signals and customer changes to an EventBridge bus, and to a lake through
//! Firehose.
//!
//! Lambda gives the function the records of one shard of a DynamoDB stream, in their order. When
//! the function does not deliver a record, Lambda gives it this record and all that follow again,
//! for 23 hours. So every record is delivered at least once if its target is back by then. A record
//! that is delivered twice has the same `id` and `source` (`cloud_event`).
//!
//! `delivery/template.yaml` deploys this crate twice, each time with one target: `BusFunction` sends
//! to the bus, and `LakeFunction` sends to Firehose. The template says why. The code can also deliver
//! to both targets in one function, and most of its tests do so.
//!
//! A batch goes through these steps, each in the order of the records. The first record that fails
//! in a step ends the batch before this record, also for the later steps:
//!
//! 1. `read` (`delivery/read.rs`) makes a CloudEvent of each record. The failure bucket keeps a
//!    record that cannot be read, and one whose CloudEvent neither the lake nor the bus can have
//!    whole; then the shard goes on. This takes at most a third of the time.
//! 2. `fill_lake` (`delivery/fill_lake.rs`) sends the CloudEvents to the lake, many to a record.
//! 3. `notify_bus` (`delivery/notify_bus.rs`) sends the CloudEvents to the bus. Instead of a
//!    CloudEvent that `PutEvents` does not take, the bus gets a reference to the place that has the
//!    whole CloudEvent. The CloudEvent is there by now, unless another function fills the lake: in
//!    `BusFunction`, the variable `LAKE_BUCKET_NAME` says that `LakeFunction` does.
//!
//! The lake comes first because a record that failed is delivered again to each step that it has
//! passed: a duplicate in the lake is dropped by a query, one on the bus may start something.
//!
//! `DeliverFunction::deliver` has the order of the steps. Only `bus` and `lake` call the services of
//! the targets. Some rules of these services are elsewhere: which numbers `PutEvents` takes
//! (`plain_json`), how long a `DetailType` may be (`cloud_event`), and what the error codes mean
//! (`target_error`). `delivery` names the service in the reason that it stores with a refused
//! CloudEvent. The tests of this crate: `tests/integration/delivery`.

mod bus;
mod clients;
mod cloud_event;
mod delivery;
mod failure_bucket;
mod lake;
mod log;
pub mod metric;
mod pending_cloud_event;
mod plain_json;
mod read_record;
mod send;
mod stream_record;
mod target_error;
mod targets;

use std::time::{Duration, Instant};

use aws::variables::{ConfigError, Variables};
use lambda_runtime::Context;
use model::timestamp::Timestamp;
use serde_json::value::RawValue;
use service::context::invocation_deadline;
use service::runtime::InvocationOutcome;
use service::runtime::batch_item_failures::{BatchItemFailure, PartialBatchResponse};
use service::telemetry::log::Log;

use self::delivery::{BatchDelivery, DeliveredBatch};
use self::stream_record::{RecordPosition, RecordSummary, StreamEvent};
use self::targets::Targets;

/// The longest that one invocation may take.
const MAX_DELIVERY_DURATION: Duration = Duration::from_secs(50);

/// The function that delivers the records of a stream to the targets.
#[derive(Debug)]
pub struct DeliverFunction {
    targets: Targets,
}

/// The payload of an invocation is not an event of a stream. It is not kept: Lambda delivers it
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload is not an event of a DynamoDB stream")]
pub struct UnreadableEvent;

impl DeliverFunction {
    /// The function with the targets that the variables name.
    ///
    /// # Errors
    /// When both targets or the failure bucket are missing, or `AWS_CA_BUNDLE` names a file that
    /// cannot be used.
    pub fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        Ok(Self {
            targets: Targets::from_variables(variables)?,
        })
    }

    /// Delivers the records of an event that came at `now`, and writes a line to `log`. Returns the
    /// first one that is to be delivered again.
    ///
    /// # Errors
    /// When `payload` is not an event of a stream.
    pub async fn deliver(
        &self,
        payload: &RawValue,
        lambda: &Context,
        now: Timestamp,
        log: &Log,
    ) -> Result<InvocationOutcome<PartialBatchResponse>, UnreadableEvent> {
        let started = Instant::now();
        let Ok(StreamEvent { records }) = serde_json::from_str(payload.get()) else {
            log::write_unreadable_event(log, now, &lambda.request_id);
            return Err(UnreadableEvent);
        };
        let deadline = invocation_deadline(lambda, now, MAX_DELIVERY_DURATION);
        let mut delivery = BatchDelivery::new(&self.targets, deadline, now);
        delivery.read(&records).await;
        delivery.fill_lake().await;
        delivery.notify_bus().await;
        let DeliveredBatch {
            failed,
            counts,
            are_credentials_refused,
        } = delivery.finish(records.len());
        log::write_delivered(log, now, &lambda.request_id, &counts, started.elapsed());
        let batch_item_failures = match failed {
            Some(position) => vec![failure_at(&records, position)],
            None => Vec::new(),
        };
        let response = PartialBatchResponse {
            batch_item_failures,
        };
        Ok(InvocationOutcome {
            response,
            are_credentials_refused,
        })
    }
}

/// What tells Lambda to deliver the record at `position` and those after it again. Without a
/// sequence number, Lambda delivers the whole batch again.
fn failure_at(records: &[&RawValue], position: RecordPosition) -> BatchItemFailure {
    let record = records.get(position.0);
    let sequence_number = record.and_then(|record| RecordSummary::read(record).sequence_number);
    BatchItemFailure {
        item_identifier: sequence_number.unwrap_or_default(),
    }
}
