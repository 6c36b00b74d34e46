//! The handler that sends the CloudEvents of an event's records to the bus.
//!
//! In place of a CloudEvent that the bus cannot accept, it sends a claim check, which names the place of the
//! whole CloudEvent: the lake, if `LAKE_DATAREF` is set and the CloudEvent fits there, or the failure
//! bucket. This module must not know how the lake is filled.

use aws::s3::Bucket;
use aws::variables::{ConfigError, Variables};
use service::runtime::InvocationOutcome;
use service::runtime::batch_item_failures::PartialBatchResponse;

use crate::delivery::{
    Delivery, DeliveryOutcome, Invocation, PositionedCloudEvent, UnreadableEvent,
};
use crate::event_bus::{BusEntry, EventBus};
use crate::failure_bucket;
use crate::send::Undelivered;
use crate::target_clients;
use crate::target_error::{FailedRecord, TargetError};

/// The variable with the name of the bus, which selects this handler.
pub(crate) const BUS_VARIABLE: &str = "EVENT_BUS_NAME";

/// The variable with the `dataref` of claim checks for the lake. It is empty where there is no lake.
const LAKE_DATAREF_VARIABLE: &str = "LAKE_DATAREF";

/// The reason that is stored with the record of a CloudEvent that the bus cannot have.
const TOO_LARGE: &str = "the bus cannot accept the whole event, and no lake has it";

/// The handler of `BusFunction`.
#[derive(Debug)]
pub struct BusHandler {
    bus: EventBus,
    /// What a claim check says if the lake has the whole CloudEvent.
    lake_dataref: Option<String>,
    failures: Bucket,
}

impl BusHandler {
    pub(crate) fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        let name = variables.required(BUS_VARIABLE)?;
        Ok(Self {
            failures: failure_bucket::from_variables(variables)?,
            bus: EventBus::new(&target_clients::config(variables)?, name),
            lake_dataref: variables.optional(LAKE_DATAREF_VARIABLE),
        })
    }

    /// Sends the CloudEvents of an event's records to the bus, in the order of the records. Returns the first
    /// record that is to be delivered again.
    ///
    /// # Errors
    /// When the payload is not an event of a stream.
    pub async fn deliver(
        &self,
        invocation: Invocation<'_>,
    ) -> Result<InvocationOutcome<PartialBatchResponse>, UnreadableEvent> {
        let mut delivery = Delivery::begin(invocation, &self.failures)?;
        let cloud_events = delivery.read();
        let mut entries = Vec::new();
        for cloud_event in &cloud_events {
            entries.push(self.entry(cloud_event, &mut delivery));
        }
        delivery.keep_all().await;
        entries.retain(|entry| !delivery.ends_before(entry.position));
        if let Err(failed) = self.send(&entries, &mut delivery).await {
            delivery.fail(failed);
        }
        Ok(delivery.finish())
    }

    /// What the bus gets of a CloudEvent: itself, or a claim check for it.
    fn entry<'e>(
        &self,
        event: &'e PositionedCloudEvent,
        delivery: &mut Delivery<'_>,
    ) -> BusEntry<'e> {
        let whole = BusEntry {
            position: event.position,
            cloud_event: &event.cloud_event,
            claim_check: None,
        };
        if !event.cloud_event.has_large_number && whole.fits() {
            return whole;
        }
        let dataref = match &self.lake_dataref {
            Some(lake) if event.cloud_event.fits_lake() => lake.clone(),
            _ => delivery.keep_later(event.position, TOO_LARGE),
        };
        delivery.set_outcome(event.position, DeliveryOutcome::Referenced);
        whole.as_claim_check(&dataref)
    }

    /// Sends the entries. An entry that EventBridge will never accept would block the shard, so its
    /// record goes to the failure bucket, and a claim check for it is sent after the other entries. But if
    /// EventBridge accepted none of several entries and no claim check, the bus is probably at fault, and
    /// the shard waits.
    async fn send(
        &self,
        entries: &[BusEntry<'_>],
        delivery: &mut Delivery<'_>,
    ) -> Result<(), FailedRecord> {
        let sent = self.bus.put(entries, delivery.deadline).await;
        let mut takes_nothing = sent.took_none_of_several;
        for Undelivered { item: entry, error } in sent.refused {
            let position = entry.position;
            let kept = delivery
                .keep_refused(position, "EventBridge", &error)
                .await?;
            let takes_claim_check = self.takes_claim_check(entry, &kept, delivery).await?;
            if takes_claim_check {
                takes_nothing = false;
                delivery.set_outcome(position, DeliveryOutcome::Referenced);
            } else if takes_nothing {
                return Err(failed(entry, error));
            } else {
                delivery.set_outcome(position, DeliveryOutcome::InFailureBucket);
            }
        }
        match sent.failed {
            Some(Undelivered { item: entry, error }) => Err(failed(entry, error)),
            None => Ok(()),
        }
    }

    /// Sends a claim check for an entry that the bus refused, unless the entry was a claim check.
    /// Returns whether the bus accepted it.
    async fn takes_claim_check(
        &self,
        refused: &BusEntry<'_>,
        dataref: &str,
        delivery: &Delivery<'_>,
    ) -> Result<bool, FailedRecord> {
        if refused.claim_check.is_some() {
            return Ok(false);
        }
        let claim_check = [refused.as_claim_check(dataref)];
        let sent = self.bus.put(&claim_check, delivery.deadline).await;
        match sent.failed {
            Some(Undelivered { error, .. }) => Err(failed(refused, error)),
            None => Ok(sent.refused.is_empty()),
        }
    }
}

fn failed(entry: &BusEntry<'_>, error: TargetError) -> FailedRecord {
    FailedRecord {
        position: entry.position,
        target: "bus",
        error,
    }
}
