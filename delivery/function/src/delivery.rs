//! The steps of one batch. This module must not know what a signal or a customer is.

use aws::cause::Cause;
use aws::deadline::Deadline;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use model::timestamp::Timestamp;
use serde_json::value::RawValue;

use crate::bus::Bus;
use crate::cloud_event::IN_THE_LAKE;
use crate::failure_bucket::FailureBucket;
use crate::lake::Lake;
use crate::log::{DeliveryCounts, DeliveryFailure};
use crate::pending_cloud_event::{CloudEventState, PendingCloudEvent, is_whole_on_bus};
use crate::read_record::read_record;
use crate::send::Undelivered;
use crate::target_error::TargetError;
use crate::targets::Targets;

/// How many records are written to the failure bucket at the same time.
const KEPT_AT_ONCE: usize = 16;

/// The names of the targets and of the failure bucket in the log.
const BUS: &str = "bus";
const LAKE: &str = "lake";
const FAILURE_BUCKET: &str = "failure bucket";

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
    /// The positions of records without a CloudEvent.
    skipped: Vec<usize>,
    /// Records that only the failure bucket has: they cannot be read, or no target can have their
    /// CloudEvent.
    only_kept: Vec<usize>,
    /// The first record that failed.
    failed: Option<FailedRecord>,
    are_credentials_refused: bool,
}

/// A record that is to be delivered again, by its position in the batch.
struct FailedRecord {
    position: usize,
    failure: DeliveryFailure,
}

/// A record for the failure bucket: it cannot be read, or no target can have its CloudEvent whole.
struct RecordToKeep<'a> {
    position: usize,
    record: &'a RawValue,
    reason: String,
}

/// What became of a batch.
pub(crate) struct DeliveredBatch {
    /// The position of the first failed record, if there is one.
    pub(crate) failed: Option<usize>,
    /// The numbers for the log.
    pub(crate) counts: DeliveryCounts,
    /// Whether AWS refused the credentials of the function.
    pub(crate) are_credentials_refused: bool,
}

impl RecordToKeep<'_> {
    async fn keep(
        self,
        failure_bucket: FailureBucket<'_>,
        deadline: Deadline,
    ) -> Result<(), Undelivered> {
        let kept = failure_bucket
            .keep(self.record, &self.reason, deadline)
            .await;
        kept.map_err(|cause| Undelivered {
            position: self.position,
            cause,
        })
    }
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
        for (position, record) in records.iter().copied().enumerate() {
            if let Some(reason) = self.read_one(position, record) {
                to_keep.push(RecordToKeep {
                    position,
                    record,
                    reason,
                });
            }
        }
        let deadline = self.deadline.at_most(self.deadline.remaining() / 3);
        let failure_bucket = self.failure_bucket;
        // A vector, because the compiler cannot prove that a stream of closures' futures is `Send`.
        let puts: Vec<_> = to_keep
            .into_iter()
            .map(|to_keep| to_keep.keep(failure_bucket, deadline))
            .collect();
        let kept: Result<Vec<()>, Undelivered> = stream::iter(puts)
            .buffered(KEPT_AT_ONCE)
            .try_collect()
            .await;
        if let Err(Undelivered { position, cause }) = kept {
            self.fail(position, FAILURE_BUCKET, &cause);
        }
    }

    /// Reads a record. Returns the reason if it is to be kept.
    fn read_one(&mut self, position: usize, record: &'a RawValue) -> Option<String> {
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
                indexes.push(index);
                lines.push(pending.cloud_event.json.as_str());
            }
        }
        let sent = lake.put(&lines, deadline).await;
        let index_of = |position: usize| indexes.get(position).copied().unwrap_or_default();
        for Undelivered { position, cause } in sent.refused {
            let index = index_of(position);
            if sent.took_none_of_several {
                self.fail_cloud_event(index, LAKE, &cause);
                return;
            }
            let kept = self.keep_cloud_event(index, "Firehose", &cause).await;
            if let Err(cause) = kept {
                self.fail_cloud_event(index, FAILURE_BUCKET, &cause);
                return;
            }
        }
        if let Some(Undelivered { position, cause }) = sent.failed {
            self.fail_cloud_event(index_of(position), LAKE, &cause);
        }
    }

    /// Sends the CloudEvents to the bus, if there is one. A CloudEvent that EventBridge will never
    /// take would hold up the shard, so it is kept, and a reference to it is sent after the other
    /// CloudEvents. But if EventBridge took none of several CloudEvents and no reference, the bus
    /// is probably at fault, and the shard waits.
    pub(crate) async fn notify_bus(&mut self) {
        let Some(bus) = &self.targets.bus else { return };
        let entries: Vec<_> = self
            .cloud_events
            .iter()
            .map(PendingCloudEvent::entry)
            .collect();
        let sent = bus.put(&entries, self.deadline).await;
        let mut takes_nothing = sent.took_none_of_several;
        for Undelivered { position, cause } in sent.refused {
            let event = self.cloud_events.get(position);
            let was_reference = event.is_some_and(PendingCloudEvent::is_reference);
            let kept = self.keep_cloud_event(position, "EventBridge", &cause).await;
            if let Err(cause) = kept {
                self.fail_cloud_event(position, FAILURE_BUCKET, &cause);
                return;
            }
            let takes_reference = if was_reference {
                false
            } else {
                match self.send_reference(bus, position).await {
                    Ok(is_taken) => is_taken,
                    Err(cause) => {
                        self.fail_cloud_event(position, BUS, &cause);
                        return;
                    }
                }
            };
            if takes_reference {
                takes_nothing = false;
                continue;
            }
            if takes_nothing {
                self.fail_cloud_event(position, BUS, &cause);
                return;
            }
            if let Some(pending) = self.cloud_events.get_mut(position) {
                pending.state = CloudEventState::Kept;
            }
        }
        if let Some(Undelivered { position, cause }) = sent.failed {
            self.fail_cloud_event(position, BUS, &cause);
        }
    }

    /// Sends the bus a reference to a CloudEvent that is kept. Returns whether the bus took it.
    async fn send_reference(&self, bus: &Bus, index: usize) -> Result<bool, TargetError> {
        let Some(pending) = self.cloud_events.get(index) else {
            return Ok(false);
        };
        let sent = bus.put(&[pending.entry()], self.deadline).await;
        match sent.failed {
            Some(Undelivered { cause, .. }) => Err(cause),
            None => Ok(sent.refused.is_empty()),
        }
    }

    /// Counts what became of the records of the batch, of which there are this many.
    pub(crate) fn finish(self, records: usize) -> DeliveredBatch {
        let failed = self.failed.as_ref().map(|failed| failed.position);
        let end = failed.unwrap_or(records);
        let count_before_end =
            |positions: &[usize]| positions.iter().filter(|position| **position < end).count();
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
    fn fail(&mut self, position: usize, target: &'static str, cause: &TargetError) {
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

    /// Ends the batch before the record of a CloudEvent. If a defect names no CloudEvent, the batch
    /// ends at its beginning, so that no record is passed over.
    fn fail_cloud_event(&mut self, index: usize, target: &'static str, cause: &TargetError) {
        let event = self.cloud_events.get(index);
        let position = event.map_or(0, |pending| pending.position);
        self.fail(position, target, cause);
    }

    /// Writes the record of a CloudEvent that a target will never take to the failure bucket.
    async fn keep_cloud_event(
        &mut self,
        index: usize,
        target: &str,
        cause: &TargetError,
    ) -> Result<(), TargetError> {
        let Some(pending) = self.cloud_events.get(index) else {
            return Ok(());
        };
        let reason = format!("{target} does not take the event: {cause}");
        self.failure_bucket
            .keep(pending.record, &reason, self.deadline)
            .await?;
        let url = self.failure_bucket.url(pending.record);
        if let Some(pending) = self.cloud_events.get_mut(index) {
            pending.dataref = Some(url);
            pending.state = if self.targets.bus.is_some() {
                CloudEventState::Refused
            } else {
                CloudEventState::Kept
            };
        }
        Ok(())
    }
}
