//! The calls to the Firehose stream that writes the lake. This module must not know what is in a
//! CloudEvent.
//!
//! Source: `PutRecordBatch` in the Firehose API reference.

use aws::deadline::Deadline;
use aws_config::SdkConfig;
use aws_sdk_firehose::Client;
use aws_sdk_firehose::primitives::Blob;
use aws_sdk_firehose::types::Record;

use crate::cloud_event::MAX_LAKE_BYTES;
use crate::delivery::PositionedCloudEvent;
use crate::send::{ItemResult, RefusedCall, SendOutcome, confirm, confirm_count, send_all};
use crate::target_clients::call;
use crate::target_error::TargetError;

/// The most records of one call: "up to a limit of 4 MB for the entire request", also if that is
/// after base64 encoding.
const MAX_RECORDS: usize = 3;

/// The Firehose stream of the lake.
#[derive(Debug)]
pub(crate) struct DeliveryStream {
    client: Client,
    name: String,
}

/// A record: lines of JSON, one for each CloudEvent. Each record is billed as a multiple of 5 KB
/// ("Amazon Data Firehose pricing"), so one CloudEvent in each would cost several times as much.
#[derive(Debug, PartialEq, Eq)]
struct PackedRecord {
    /// The index of its first CloudEvent.
    first: usize,
    lines: String,
}

impl DeliveryStream {
    pub(crate) fn new(config: &SdkConfig, name: String) -> Self {
        Self {
            client: Client::new(config),
            name,
        }
    }

    /// Sends CloudEvents in their order. When a record is not taken, its first CloudEvent is the
    /// undelivered one.
    pub(crate) async fn put<'i>(
        &self,
        cloud_events: &'i [PositionedCloudEvent],
        deadline: Deadline,
    ) -> SendOutcome<'i, PositionedCloudEvent> {
        send_all(
            cloud_events,
            cloud_events_of_next_call,
            |cloud_events_of_call| self.put_in_one_call(cloud_events_of_call, deadline),
        )
        .await
    }

    async fn put_in_one_call(
        &self,
        cloud_events: &[PositionedCloudEvent],
        deadline: Deadline,
    ) -> Result<(), RefusedCall> {
        let packed = pack(cloud_events);
        let first_indexes: Vec<usize> = packed.iter().map(|record| record.first).collect();
        let mut records = Vec::new();
        for PackedRecord { lines, .. } in packed {
            let record = Record::builder().data(Blob::new(lines)).build();
            records.push(record.map_err(|_| TargetError::RequestError)?);
        }
        let sent = self
            .client
            .put_record_batch()
            .delivery_stream_name(&self.name)
            .set_records(Some(records))
            .send();
        let output = call(sent, deadline).await?;
        let results = output.request_responses();
        confirm_count(first_indexes.len(), results.len())?;
        let item_results = first_indexes
            .into_iter()
            .zip(results)
            .map(|(index, result)| ItemResult {
                index,
                id: result.record_id(),
                error_code: result.error_code(),
            });
        confirm(item_results)
    }
}

/// The records of one call with these CloudEvents.
fn pack(cloud_events: &[PositionedCloudEvent]) -> Vec<PackedRecord> {
    let mut records = Vec::new();
    let mut first = 0;
    while let Some(rest) = cloud_events.get(first..)
        && !rest.is_empty()
    {
        let count = cloud_events_of_next_record(rest);
        let mut lines = String::new();
        for event in rest.iter().take(count) {
            lines.push_str(&event.cloud_event.json);
            lines.push('\n');
        }
        records.push(PackedRecord { first, lines });
        first += count;
    }
    records
}

/// How many of `cloud_events` one record takes: at least one if there is one.
fn cloud_events_of_next_record(cloud_events: &[PositionedCloudEvent]) -> usize {
    let mut record_bytes = 0;
    let mut count = 0;
    for event in cloud_events {
        record_bytes += event.cloud_event.json.len() + "\n".len();
        if record_bytes > MAX_LAKE_BYTES {
            break;
        }
        count += 1;
    }
    count.max(1).min(cloud_events.len())
}

/// How many of `cloud_events` the records of one call take.
fn cloud_events_of_next_call(cloud_events: &[PositionedCloudEvent]) -> usize {
    let mut count = 0;
    for _ in 0..MAX_RECORDS {
        let rest = cloud_events.get(count..).unwrap_or_default();
        count += cloud_events_of_next_record(rest);
    }
    count
}

#[cfg(test)]
mod tests {
    use model::timestamp::Timestamp;

    use super::*;
    use crate::cloud_event::{CloudEvent, CloudEventAttributes, CloudEventKind};
    use crate::stream_record::RecordPosition;

    /// A CloudEvent with this text as its JSON.
    fn event(json: &str) -> PositionedCloudEvent {
        let attributes = CloudEventAttributes {
            kind: CloudEventKind::Signal,
            id: "id",
            account_id: "acme",
            cloud_event_type: "purchase",
            subject: "c",
            time: Timestamp::from_millis(0),
        };
        let mut cloud_event = CloudEvent::new(attributes, None);
        json.clone_into(&mut cloud_event.json);
        PositionedCloudEvent {
            position: RecordPosition(0),
            cloud_event,
        }
    }

    #[test]
    fn cloud_events_share_a_record_until_it_is_full() {
        let small = "x".repeat(400_000);
        let large = "y".repeat(999_999);
        assert!(event(&large).cloud_event.fits_lake());
        assert!(!event(&"y".repeat(1_000_000)).cloud_event.fits_lake());
        let cloud_events = [&*small, &small, &small, &large, "a", "b"].map(event);
        let records = pack(&cloud_events);
        let first_cloud_events: Vec<_> = records.iter().map(|record| record.first).collect();
        assert_eq!(first_cloud_events, [0, 2, 3, 4]);
        assert_eq!(cloud_events_of_next_call(&cloud_events), 4);
        assert_eq!(records[0].lines, format!("{small}\n{small}\n"));
        assert_eq!(records[2].lines.len(), 1_000_000);
        assert_eq!(records[3].lines, "a\nb\n");
    }
}
