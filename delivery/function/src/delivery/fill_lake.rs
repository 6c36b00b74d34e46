//! The second step: sends the CloudEvents to the lake.

use super::{BatchDelivery, CloudEventIndex, IN_THE_BATCH};
use crate::send::Undelivered;
use crate::target_error::TargetFailure;

impl BatchDelivery<'_> {
    /// Sends the CloudEvents to the lake, if there is one. One that Firehose will never take is
    /// kept.
    pub(crate) async fn fill_lake(&mut self) {
        let Some(lake) = &self.targets.lake else {
            return;
        };
        let remaining = self.deadline.remaining();
        // If there is a bus, it has half of the time.
        let lake_time = match &self.targets.bus {
            Some(_) => remaining / 2,
            None => remaining,
        };
        let deadline = self.deadline.at_most(lake_time);
        let mut indexes = Vec::new();
        let mut lines = Vec::new();
        for (index, pending) in self.cloud_events.iter().enumerate() {
            if pending.goes_to_lake() {
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
                self.fail_cloud_event(index, TargetFailure::of_lake(cause));
                return;
            }
            let kept = self.keep_refused(index, "Firehose", &cause).await;
            if let Err(failure) = kept {
                self.fail_cloud_event(index, failure);
                return;
            }
        }
        if let Some(Undelivered { index, cause }) = sent.failed {
            self.fail_cloud_event(index_of_line(index), TargetFailure::of_lake(cause));
        }
    }
}
