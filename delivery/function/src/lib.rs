//! The delivery of stored signals and customer changes to an EventBridge bus, and to a lake through Firehose.
//!
//! Lambda gives the function the records of one shard of a DynamoDB stream, in their order, and gives it again the first one
//! that it does not deliver and all that follow, until it does. So every record is delivered at least once, and one that is
//! delivered twice has the same `id` and `source` (`cloud_event`).
//!
//! A batch goes through these steps, each in the order of the records. The first record that fails in one ends it there, for
//! the steps after it too:
//!
//! 1. Each record becomes an event. A record that cannot be read is kept in the failure bucket, and the shard goes on; so is
//!    one whose event is too large for the lake, or has no lake and cannot be whole on the bus.
//! 2. The lake gets the events, many to a record.
//! 3. The bus gets the events. One that `PutEvents` does not take is a pointer to where it is whole: by now it is there, unless
//!    another function fills the lake, which `LAKE_BUCKET_NAME` says.
//!
//! The lake comes first because a record that failed is delivered again to each step that it has passed: a duplicate in the
//! lake is dropped by a query, one on the bus may start something.
//!
//! This crate has the order of the steps. Only `bus`, `lake` and `failure_bucket` know their services.

mod bus;
mod clients;
mod cloud_event;
mod delivery;
mod event;
mod failure_bucket;
mod lake;
mod plain_json;
mod record;

use std::time::{Duration, Instant};

use lambda_runtime::Context;
use model::timestamp::Timestamp;
use serde_json::value::RawValue;
use service::config::{ConfigError, env_var, optional_env_var};
use service::context::deadline_of;
use service::telemetry::delivery_log;

use self::bus::Bus;
use self::delivery::Delivery;
pub use self::event::{BatchItemFailure, StreamBatchResponse};
use self::event::{RecordName, StreamEvent};
use self::failure_bucket::FailureBucket;
use self::lake::Lake;

/// The longest that one invocation may take.
const MAX_DELIVERY_DURATION: Duration = Duration::from_secs(50);

/// The variables of the targets, for the error when there is none.
const TARGETS: &str = "EVENT_BUS_NAME or DELIVERY_STREAM_NAME";

/// The function: its targets, of which one may be missing, and the bucket for what cannot be delivered.
#[derive(Debug)]
pub struct DeliverFunction {
    bus: Option<Bus>,
    lake: Option<Lake>,
    /// Whether the lake gets the events that it can have: by this function, or by another.
    has_lake: bool,
    failures: FailureBucket,
}

/// The payload of an invocation is no event of a stream. It is not kept: Lambda delivers it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload is not an event of a DynamoDB stream")]
pub struct UnreadableEvent;

impl DeliverFunction {
    /// The function with the targets that the environment variables name.
    ///
    /// # Errors
    /// When there is no target or no failure bucket, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_environment() -> Result<Self, ConfigError> {
        let failures = FailureBucket::from_environment(env_var("FAILURE_BUCKET_NAME")?)?;
        let (bus, lake) = (optional_env_var("EVENT_BUS_NAME"), optional_env_var("DELIVERY_STREAM_NAME"));
        if bus.is_none() && lake.is_none() {
            return Err(ConfigError::Variable(TARGETS));
        }
        let (bus, lake) = (bus.map(Bus::from_environment).transpose()?, lake.map(Lake::from_environment).transpose()?);
        let has_lake = lake.is_some() || optional_env_var("LAKE_BUCKET_NAME").is_some();
        Ok(Self { bus, lake, has_lake, failures })
    }

    /// Delivers the records of an event that came at `now`. Returns the first one that is to be delivered again.
    ///
    /// # Errors
    /// When `payload` is no event of a stream.
    pub async fn deliver(
        &self,
        payload: &RawValue,
        lambda: &Context,
        now: Timestamp,
    ) -> Result<StreamBatchResponse, UnreadableEvent> {
        let started = Instant::now();
        let Ok(StreamEvent { records }) = serde_json::from_str(payload.get()) else {
            delivery_log::unreadable_event(now, &lambda.request_id);
            return Err(UnreadableEvent);
        };
        let mut delivery = Delivery::new(self, deadline_of(lambda.deadline, now, MAX_DELIVERY_DURATION), now);
        delivery.read(&records).await;
        delivery.fill_lake().await;
        delivery.notify_bus().await;
        let (failed, counts) = delivery.finish(records.len());
        delivery_log::delivered(now, &lambda.request_id, &counts, started.elapsed());
        let failed = failed.and_then(|position| records.get(position)).map(|record| BatchItemFailure {
            item_identifier: RecordName::of(record).sequence_number.unwrap_or_default(),
        });
        Ok(StreamBatchResponse { batch_item_failures: failed.into_iter().collect() })
    }
}
