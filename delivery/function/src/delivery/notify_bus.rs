//! The third step: sends the CloudEvents to the bus.

use super::{BatchDelivery, CloudEventIndex};
use crate::bus::Bus;
use crate::pending_cloud_event::{CloudEventState, PendingCloudEvent};
use crate::send::Undelivered;
use crate::target_error::{TargetError, TargetFailure};

impl BatchDelivery<'_> {
    /// Sends the CloudEvents to the bus, if there is one. A CloudEvent that EventBridge will never
    /// take would hold up the shard, so it is kept, and a reference to it is sent after the other
    /// CloudEvents. But if EventBridge took none of several CloudEvents and no reference, the bus is
    /// probably at fault, and the shard waits.
    pub(crate) async fn notify_bus(&mut self) {
        let Some(bus) = &self.targets.bus else { return };
        let entries: Vec<_> = self
            .cloud_events
            .iter()
            .map(PendingCloudEvent::entry)
            .collect();
        let sent = bus.put(&entries, self.deadline).await;
        let mut takes_nothing = sent.took_none_of_several;
        for Undelivered { index, cause } in sent.refused {
            let index = CloudEventIndex(index);
            let takes_reference = match self.keep_and_refer(bus, index, &cause).await {
                Ok(takes_reference) => takes_reference,
                Err(failure) => {
                    self.fail_cloud_event(index, failure);
                    return;
                }
            };
            if takes_reference {
                takes_nothing = false;
            } else if takes_nothing {
                self.fail_cloud_event(index, TargetFailure::of_bus(cause));
                return;
            } else {
                self.cloud_event_mut(index).state = CloudEventState::OnlyKept;
            }
        }
        if let Some(Undelivered { index, cause }) = sent.failed {
            self.fail_cloud_event(CloudEventIndex(index), TargetFailure::of_bus(cause));
        }
    }

    /// Keeps a CloudEvent that the bus refused, and sends the bus a reference to it, unless the bus
    /// refused one. Returns whether the bus took the reference.
    async fn keep_and_refer(
        &mut self,
        bus: &Bus,
        index: CloudEventIndex,
        refusal: &TargetError,
    ) -> Result<bool, TargetFailure> {
        let was_reference = self.cloud_event(index).is_reference();
        self.keep_refused(index, "EventBridge", refusal).await?;
        if was_reference {
            return Ok(false);
        }
        let reference = self.cloud_event(index).entry();
        let sent = bus.put(&[reference], self.deadline).await;
        match sent.failed {
            Some(Undelivered { cause, .. }) => Err(TargetFailure::of_bus(cause)),
            None => Ok(sent.refused.is_empty()),
        }
    }
}
