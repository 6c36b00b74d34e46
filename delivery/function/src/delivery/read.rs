//! The first step: makes a CloudEvent of each record, and keeps the records that cannot be delivered
//! whole.

use serde_json::value::RawValue;

use super::BatchDelivery;
use crate::cloud_event::Dataref;
use crate::failure_bucket::{NotKept, RecordToKeep};
use crate::lake::Lake;
use crate::pending_cloud_event::{CloudEventState, PendingCloudEvent, is_whole_on_bus};
use crate::read_record::read_record;
use crate::stream_record::RecordPosition;
use crate::target_error::TargetFailure;

/// The reason that is stored with a CloudEvent that no target takes whole.
const TOO_LARGE: &str =
    "the event is too large for the lake, or there is no lake and the bus cannot have it whole";

impl<'a> BatchDelivery<'a> {
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
            self.fail(position, TargetFailure::of_failure_bucket(cause));
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
        let goes_to_lake = self.targets.has_lake && Lake::fits(&cloud_event.json);
        let goes_whole_to_bus = has_bus && is_whole_on_bus(&cloud_event);
        let is_kept = !goes_to_lake && !goes_whole_to_bus;
        if is_kept && !has_bus {
            // It is nowhere but in the failure bucket.
            self.only_kept.push(position);
            return Some(TOO_LARGE.to_owned());
        }
        let dataref = if goes_to_lake {
            Some(Dataref::Lake)
        } else if is_kept {
            Some(Dataref::FailureBucket(self.failure_bucket.url(record)))
        } else {
            None
        };
        self.cloud_events.push(PendingCloudEvent {
            position,
            record,
            cloud_event,
            dataref,
            state: CloudEventState::NotRefused,
        });
        is_kept.then(|| TOO_LARGE.to_owned())
    }
}
