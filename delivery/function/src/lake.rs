//! The handler that sends the CloudEvents of an event's records to the lake. This module must not know of the
//! bus.

use aws::s3::Bucket;
use aws::variables::{ConfigError, Variables};
use service::runtime::InvocationOutcome;
use service::runtime::batch_item_failures::PartialBatchResponse;

use crate::delivery::{
    Delivery, DeliveryOutcome, Invocation, PositionedCloudEvent, UnreadableEvent,
};
use crate::failure_bucket;
use crate::firehose::DeliveryStream;
use crate::send::Undelivered;
use crate::target_clients;
use crate::target_error::{FailedRecord, TargetError};

/// The variable with the name of the Firehose stream, which selects this handler.
pub(crate) const STREAM_VARIABLE: &str = "DELIVERY_STREAM_NAME";

/// The reason that is stored with the record of a CloudEvent that the lake cannot have.
const TOO_LARGE: &str = "the event is too large for the lake";

/// The handler of `LakeFunction`.
#[derive(Debug)]
pub struct LakeHandler {
    stream: DeliveryStream,
    failures: Bucket,
}

impl LakeHandler {
    pub(crate) fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        let name = variables.required(STREAM_VARIABLE)?;
        Ok(Self {
            failures: failure_bucket::from_variables(variables)?,
            stream: DeliveryStream::new(&target_clients::config(variables)?, name),
        })
    }

    /// Sends the CloudEvents of an event's records to the lake, in the order of the records. Returns the first
    /// record that is to be delivered again.
    ///
    /// # Errors
    /// When the payload is not an event of a stream.
    pub async fn deliver(
        &self,
        invocation: Invocation<'_>,
    ) -> Result<InvocationOutcome<PartialBatchResponse>, UnreadableEvent> {
        let mut delivery = Delivery::begin(invocation, &self.failures)?;
        let mut cloud_events = Vec::new();
        for event in delivery.read() {
            if event.cloud_event.fits_lake() {
                cloud_events.push(event);
            } else {
                delivery.keep_later(event.position, TOO_LARGE);
                delivery.set_outcome(event.position, DeliveryOutcome::InFailureBucket);
            }
        }
        delivery.keep_all().await;
        cloud_events.retain(|event| !delivery.ends_before(event.position));
        if let Err(failed) = self.send(&cloud_events, &mut delivery).await {
            delivery.fail(failed);
        }
        Ok(delivery.finish())
    }

    /// Sends the CloudEvents. If Firehose will never accept a CloudEvent, its record goes to the failure
    /// bucket. But if Firehose accepted none of several, the stream is probably at fault, and the shard waits.
    async fn send(
        &self,
        cloud_events: &[PositionedCloudEvent],
        delivery: &mut Delivery<'_>,
    ) -> Result<(), FailedRecord> {
        let sent = self.stream.put(cloud_events, delivery.deadline).await;
        for Undelivered { item: event, error } in sent.refused {
            if sent.took_none_of_several {
                return Err(failed(event, error));
            }
            delivery
                .keep_refused(event.position, "Firehose", &error)
                .await?;
            delivery.set_outcome(event.position, DeliveryOutcome::InFailureBucket);
        }
        match sent.failed {
            Some(Undelivered { item: event, error }) => Err(failed(event, error)),
            None => Ok(()),
        }
    }
}

fn failed(event: &PositionedCloudEvent, error: TargetError) -> FailedRecord {
    FailedRecord {
        position: event.position,
        target: "lake",
        error,
    }
}
