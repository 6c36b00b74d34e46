//! The Firehose stream that writes the lake. Must not know what is in an event.
//!
//! Source: `PutRecordBatch` in the Firehose API reference.

use aws::deadline::Deadline;
use aws_config::SdkConfig;
use aws_sdk_firehose::Client;
use aws_sdk_firehose::primitives::Blob;
use aws_sdk_firehose::types::Record;

use crate::clients::{Calls, TargetError, Undelivered, call, confirm};

/// The largest record, in bytes: "as large as 1,000 KB (before base64 encoding)".
const MAX_RECORD_BYTES: usize = 1_000_000;

/// Records of one call: "up to a limit of 4 MB for the entire request", also if that is after
/// base64 encoding.
const MAX_RECORDS: usize = 3;

/// The Firehose stream of the lake.
#[derive(Debug)]
pub(crate) struct Lake {
    client: Client,
    stream: String,
}

/// A record: lines of JSON, one for each event. Each record is billed as a multiple of 5 KB
/// ("Amazon Data Firehose pricing"), so one event in each would cost several times as much.
#[derive(Debug, PartialEq, Eq)]
struct Packed {
    /// The position of its first event.
    first: usize,
    lines: String,
}

impl Lake {
    /// The stream with this name.
    pub(crate) fn new(config: &SdkConfig, stream: String) -> Self {
        Self {
            client: Client::new(config),
            stream,
        }
    }

    /// Whether a record can have this event.
    pub(crate) fn fits(event: &str) -> bool {
        event.len() < MAX_RECORD_BYTES
    }

    /// Sends events in their order. When a record is not taken, its first event is the undelivered
    /// one.
    pub(crate) async fn put<'e>(
        &self,
        events: &'e [&'e str],
        deadline: Deadline,
    ) -> Calls<'e, &'e str> {
        Calls::make(events, events_of_next_call, |now| {
            self.call(pack(now), deadline)
        })
        .await
    }

    async fn call(&self, records: Vec<Packed>, deadline: Deadline) -> Result<(), Undelivered> {
        let first: Vec<_> = records.iter().map(|record| record.first).collect();
        let records = records
            .into_iter()
            .map(|record| Record::builder().data(Blob::new(record.lines)).build());
        let records = records
            .collect::<Result<_, _>>()
            .map_err(|_| TargetError::RequestError)?;
        let sent = self
            .client
            .put_record_batch()
            .delivery_stream_name(&self.stream)
            .set_records(Some(records))
            .send();
        let results = call(sent, deadline).await?.request_responses;
        confirm(
            first.into_iter(),
            results
                .iter()
                .map(|result| (result.record_id(), result.error_code())),
        )
    }
}

fn pack(events: &[&str]) -> Vec<Packed> {
    let (mut records, mut rest) = (Vec::new(), events);
    while !rest.is_empty() {
        let first = events.len() - rest.len();
        let (now, later) = rest.split_at(events_of_next_record(rest));
        records.push(Packed {
            first,
            lines: now.iter().flat_map(|event| [*event, "\n"]).collect(),
        });
        rest = later;
    }
    records
}

/// How many of `events` one record takes, at least one if there is one.
fn events_of_next_record(events: &[&str]) -> usize {
    let mut sum = 0;
    let fitting = events.iter().take_while(|event| {
        sum += event.len() + "\n".len();
        sum <= MAX_RECORD_BYTES
    });
    fitting.count().max(1).min(events.len())
}

/// How many of `events` the records of one call take.
fn events_of_next_call(events: &[&str]) -> usize {
    (0..MAX_RECORDS).fold(0, |count, _| {
        count + events_of_next_record(events.get(count..).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_share_a_record_until_it_is_full() {
        let (small, large) = ("x".repeat(400_000), "y".repeat(999_999));
        assert!(Lake::fits(&large) && !Lake::fits(&"y".repeat(1_000_000)));
        let events: [&str; 6] = [&small, &small, &small, &large, "a", "b"];
        let records = pack(&events);
        assert_eq!(
            records
                .iter()
                .map(|record| record.first)
                .collect::<Vec<_>>(),
            [0, 2, 3, 4]
        );
        assert_eq!(events_of_next_call(&events), 4);
        assert_eq!(records[0].lines, format!("{small}\n{small}\n"));
        assert_eq!(records[2].lines.len(), 1_000_000);
        assert_eq!(records[3].lines, "a\nb\n");
    }
}
