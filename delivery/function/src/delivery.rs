//! A batch while it is delivered: how far it is, and what became of its records. Each of its steps
//! has a module of its own. No module here may know what a signal or a customer is.

mod fill_lake;
mod notify_bus;
mod read;

use aws::cause::Cause;
use aws::deadline::Deadline;
use model::timestamp::Timestamp;

use crate::cloud_event::Dataref;
use crate::failure_bucket::FailureBucket;
use crate::log::DeliveryCounts;
use crate::pending_cloud_event::{CloudEventState, PendingCloudEvent};
use crate::stream_record::RecordPosition;
use crate::target_error::{TargetError, TargetFailure};
use crate::targets::Targets;

/// Why a [`CloudEventIndex`] has a CloudEvent: the message of each `expect` that says so. A panic
/// fails the invocation, and Lambda delivers the whole batch again.
const IN_THE_BATCH: &str = "a target names one of the CloudEvents that it got";

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

/// A record that is to be delivered again.
struct FailedRecord {
    position: RecordPosition,
    failure: TargetFailure,
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
        kept.map_err(TargetFailure::of_failure_bucket)?;
        let url = self.failure_bucket.url(record);
        let has_bus = self.targets.bus.is_some();
        let pending = self.cloud_event_mut(index);
        pending.dataref = Some(Dataref::FailureBucket(url));
        pending.state = if has_bus {
            CloudEventState::RefusedThenKept
        } else {
            CloudEventState::OnlyKept
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
        let mut only_kept = count_before_end(&self.only_kept);
        for pending in &self.cloud_events {
            if pending.state == CloudEventState::OnlyKept {
                only_kept += 1;
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
            only_kept,
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
    fn fail(&mut self, position: RecordPosition, failure: TargetFailure) {
        if matches!(failure.cause, TargetError::Call(Cause::InvalidCredentials)) {
            self.are_credentials_refused = true;
        }
        self.cloud_events
            .retain(|pending| pending.position < position);
        self.failed = Some(FailedRecord { position, failure });
    }

    /// Ends the batch before the record of a CloudEvent.
    fn fail_cloud_event(&mut self, index: CloudEventIndex, failure: TargetFailure) {
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
