//! The steps of one batch. This module must not know what a signal or a customer is.

use aws::cause::Cause;
use aws::deadline::Deadline;
use model::timestamp::Timestamp;
use serde_json::value::RawValue;

use crate::bus::Bus;
use crate::cloud_event::IN_THE_LAKE;
use crate::failure_bucket::{FailureBucket, NotKept, RecordToKeep};
use crate::lake::Lake;
use crate::log::{DeliveryCounts, DeliveryFailure};
use crate::pending_cloud_event::{CloudEventState, PendingCloudEvent, is_whole_on_bus};
use crate::read_record::read_record;
use crate::send::Undelivered;
use crate::stream_record::RecordPosition;
use crate::target_error::TargetError;
use crate::targets::Targets;

/// The names of the targets and of the failure bucket in the log.
const BUS: &str = "bus";
const LAKE: &str = "lake";
const FAILURE_BUCKET: &str = "failure bucket";

/// Why a [`CloudEventIndex`] has a CloudEvent: the message of each `expect` that says so. A panic
/// fails the invocation, and Lambda delivers the whole batch again.
const IN_THE_BATCH: &str = "a target names one of the CloudEvents that it got";

/// The reason that is stored with a CloudEvent that no target takes whole.
const TOO_LARGE: &str =
    "the event is too large for the lake, or there is no lake and the bus cannot have it whole";

/// A batch while it is delivered.
pub(crate) struct BatchDelivery<'a> {
    targets: &'a Targets,
    failure_bucket: FailureBucket<'a>,
    deadline: Deadline,
    /// The CloudEvents of all records before the first failed one.
    cloud_events: Vec<PendingCloudEvent<'a>>,
    /// Records without a CloudEvent.
    skipped: Vec<RecordPosition>,
    /// Records that only the failure bucket has: they cannot be read, or no target can have their
    /// CloudEvent.
    only_kept: Vec<RecordPosition>,
    /// The first record that failed.
    failed: Option<FailedRecord>,
    are_credentials_refused: bool,
}

/// The index of a CloudEvent among those of the batch.
#[derive(Clone, Copy)]
struct CloudEventIndex(usize);

/// Why a record is to be delivered again.
struct TargetFailure {
    /// The target that did not take it, or the failure bucket.
    target: &'static str,
    cause: TargetError,
}

/// A record that is to be delivered again.
struct FailedRecord {
    position: RecordPosition,
    failure: DeliveryFailure,
}

/// What became of a batch.
pub(crate) struct DeliveredBatch {
    /// The first failed record, if there is one.
    pub(crate) failed: Option<RecordPosition>,
    /// The numbers for the log.
    pub(crate) counts: DeliveryCounts,
    /// Whether AWS refused the credentials of the function.
    pub(crate) are_credentials_refused: bool,
}

impl<'a> BatchDelivery<'a> {
    pub(crate) fn new(targets: &'a Targets, deadline: Deadline, now: Timestamp) -> Self {
        Self {
            targets,
            failure_bucket: FailureBucket {
                bucket: &targets.failures,
                now,
            },
            deadline,
            cloud_events: Vec::new(),
            skipped: Vec::new(),
            only_kept: Vec::new(),
            failed: None,
            are_credentials_refused: false,
        }
    }

    /// Reads the records, and keeps those that cannot be delivered whole. This takes at most a
    /// third of the time. In the rest, the CloudEvents before the first record that could not be
    /// kept are delivered, and Lambda delivers the later records again.
    pub(crate) async fn read(&mut self, records: &[&'a RawValue]) {
        let mut to_keep = Vec::new();
        for (index, record) in records.iter().copied().enumerate() {
            let position = RecordPosition(index);
            if let Some(reason) = self.read_one(position, record) {
                to_keep.push(RecordToKeep {
                    position,
                    record,
                    reason,
                });
            }
        }
        let deadline = self.deadline.at_most(self.deadline.remaining() / 3);
        let kept = self.failure_bucket.keep_all(to_keep, deadline).await;
        if let Err(NotKept { position, cause }) = kept {
            let target = FAILURE_BUCKET;
            self.fail(position, &TargetFailure { target, cause });
        }
    }

    /// Reads a record. Returns the reason if it is to be kept.
    fn read_one(&mut self, position: RecordPosition, record: &'a RawValue) -> Option<String> {
        let cloud_event = match read_record(record) {
            Ok(Some(cloud_event)) => cloud_event,
            Ok(None) => {
                self.skipped.push(position);
                return None;
            }
            Err(reason) => {
                self.only_kept.push(position);
                return Some(reason.to_string());
            }
        };
        let has_bus = self.targets.bus.is_some();
        let is_in_lake = self.targets.has_lake && Lake::fits(&cloud_event.json);
        let is_on_bus = has_bus && is_whole_on_bus(&cloud_event);
        let is_kept = !is_in_lake && !is_on_bus;
        if is_kept && !has_bus {
            // It is nowhere but in the failure bucket.
            self.only_kept.push(position);
            return Some(TOO_LARGE.to_owned());
        }
        let dataref = if is_in_lake {
            Some(IN_THE_LAKE.to_owned())
        } else if is_kept {
            Some(self.failure_bucket.url(record))
        } else {
            None
        };
        self.cloud_events.push(PendingCloudEvent {
            position,
            record,
            cloud_event,
            dataref,
            state: CloudEventState::Whole,
        });
        is_kept.then(|| TOO_LARGE.to_owned())
    }

    /// Sends the CloudEvents to the lake, if there is one. One that Firehose will never take is
    /// kept.
    pub(crate) async fn fill_lake(&mut self) {
        let Some(lake) = &self.targets.lake else {
            return;
        };
        let remaining = self.deadline.remaining();
        // If there is a bus, it has half of the time.
        let for_lake = match &self.targets.bus {
            Some(_) => remaining / 2,
            None => remaining,
        };
        let deadline = self.deadline.at_most(for_lake);
        let mut indexes = Vec::new();
        let mut lines = Vec::new();
        for (index, pending) in self.cloud_events.iter().enumerate() {
            if pending.is_in_lake() {
                indexes.push(CloudEventIndex(index));
                lines.push(pending.cloud_event.json.as_str());
            }
        }
        let sent = lake.put(&lines, deadline).await;
        let index_of_line = |line: usize| {
            let index = indexes.get(line).copied();
            index.expect(IN_THE_BATCH)
        };
        for Undelivered { index, cause } in sent.refused {
            let index = index_of_line(index);
            if sent.took_none_of_several {
                let target = LAKE;
                self.fail_cloud_event(index, &TargetFailure { target, cause });
                return;
            }
            let kept = self.keep_refused(index, "Firehose", &cause).await;
            if let Err(failure) = kept {
                self.fail_cloud_event(index, &failure);
                return;
            }
        }
        if let Some(Undelivered { index, cause }) = sent.failed {
            let target = LAKE;
            self.fail_cloud_event(index_of_line(index), &TargetFailure { target, cause });
        }
    }

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
                    self.fail_cloud_event(index, &failure);
                    return;
                }
            };
            if takes_reference {
                takes_nothing = false;
            } else if takes_nothing {
                let target = BUS;
                self.fail_cloud_event(index, &TargetFailure { target, cause });
                return;
            } else {
                self.cloud_event_mut(index).state = CloudEventState::Kept;
            }
        }
        if let Some(Undelivered { index, cause }) = sent.failed {
            let target = BUS;
            self.fail_cloud_event(CloudEventIndex(index), &TargetFailure { target, cause });
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
            Some(Undelivered { cause, .. }) => Err(TargetFailure { target: BUS, cause }),
            None => Ok(sent.refused.is_empty()),
        }
    }

    /// Writes the record of a CloudEvent that a target will never take to the failure bucket.
    async fn keep_refused(
        &mut self,
        index: CloudEventIndex,
        refused_by: &str,
        refusal: &TargetError,
    ) -> Result<(), TargetFailure> {
        let record = self.cloud_event(index).record;
        let reason = format!("{refused_by} does not take the event: {refusal}");
        let kept = self
            .failure_bucket
            .keep(record, &reason, self.deadline)
            .await;
        kept.map_err(|cause| TargetFailure {
            target: FAILURE_BUCKET,
            cause,
        })?;
        let url = self.failure_bucket.url(record);
        let has_bus = self.targets.bus.is_some();
        let pending = self.cloud_event_mut(index);
        pending.dataref = Some(url);
        pending.state = if has_bus {
            CloudEventState::Refused
        } else {
            CloudEventState::Kept
        };
        Ok(())
    }

    /// Counts what became of the records of the batch, of which there are this many.
    pub(crate) fn finish(self, records: usize) -> DeliveredBatch {
        let failed = self.failed.as_ref().map(|failed| failed.position);
        let end = failed.map_or(records, |position| position.0);
        let count_before_end = |positions: &[RecordPosition]| {
            let before_end = positions.iter().filter(|position| position.0 < end);
            before_end.count()
        };
        let has_bus = self.targets.bus.is_some();
        let mut delivered = 0;
        let mut references = 0;
        let mut refused = 0;
        for pending in &self.cloud_events {
            if pending.state == CloudEventState::Kept {
                refused += 1;
                continue;
            }
            delivered += 1;
            if has_bus && pending.is_reference() {
                references += 1;
            }
        }
        let counts = DeliveryCounts {
            records,
            delivered,
            skipped: count_before_end(&self.skipped),
            only_kept: count_before_end(&self.only_kept) + refused,
            undelivered: records - end,
            references,
            failure: self.failed.map(|failed| failed.failure),
        };
        DeliveredBatch {
            failed,
            counts,
            are_credentials_refused: self.are_credentials_refused,
        }
    }

    /// Ends the batch before the failed record.
    fn fail(&mut self, position: RecordPosition, failure: &TargetFailure) {
        let TargetFailure { target, cause } = failure;
        if matches!(cause, TargetError::Call(Cause::InvalidCredentials)) {
            self.are_credentials_refused = true;
        }
        self.cloud_events
            .retain(|pending| pending.position < position);
        let failure = DeliveryFailure {
            target,
            cause: cause.to_string(),
        };
        self.failed = Some(FailedRecord { position, failure });
    }

    /// Ends the batch before the record of a CloudEvent.
    fn fail_cloud_event(&mut self, index: CloudEventIndex, failure: &TargetFailure) {
        let position = self.cloud_event(index).position;
        self.fail(position, failure);
    }

    fn cloud_event(&self, index: CloudEventIndex) -> &PendingCloudEvent<'a> {
        self.cloud_events.get(index.0).expect(IN_THE_BATCH)
    }

    fn cloud_event_mut(&mut self, index: CloudEventIndex) -> &mut PendingCloudEvent<'a> {
        self.cloud_events.get_mut(index.0).expect(IN_THE_BATCH)
    }
}
