//! The Firehose stream that writes the lake. Must not know what is in an event.
//!
//! Source: `PutRecordBatch` in the Firehose API reference.

use aws_sdk_firehose::Client;
use aws_sdk_firehose::primitives::Blob;
use aws_sdk_firehose::types::{PutRecordBatchResponseEntry, Record};
use store::deadline::Deadline;
use store::environment::ConfigError;

use crate::clients::{Cause, Undelivered, call, config, confirm, one_for_each};

/// The largest record, in bytes: "as large as 1,000 KB (before base64 encoding)".
const MAX_RECORD_BYTES: usize = 1_000_000;

/// Records of one call: "up to a limit of 4 MB for the entire request", also if that is after base64 encoding.
const MAX_RECORDS: usize = 3;

/// The Firehose stream of the lake.
#[derive(Debug)]
pub(crate) struct Lake {
    client: Client,
    stream: String,
}

/// A record: lines of JSON, one for each event. Each record is billed as a multiple of 5 KB ("Amazon Data Firehose pricing"),
/// so one event in each would cost several times as much.
#[derive(Debug, PartialEq, Eq)]
struct Packed {
    /// The position of the stream record of its first event.
    first: usize,
    lines: String,
}

impl Lake {
    /// The stream with this name.
    pub(crate) fn from_environment(stream: String) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(&config()?), stream })
    }

    /// Whether a record can have this event.
    pub(crate) fn fits(event: &str) -> bool {
        event.len() < MAX_RECORD_BYTES
    }

    /// Sends events, each with the position of its stream record, in their order and call by call, until a record is not
    /// taken. Its first event is then the undelivered one.
    pub(crate) async fn put<'e>(
        &self,
        events: impl Iterator<Item = (usize, &'e str)>,
        deadline: Deadline,
    ) -> Result<(), Undelivered> {
        let mut records = pack(events).into_iter().peekable();
        while let Some(first) = records.peek().map(|record| record.first) {
            let records: Vec<_> = records.by_ref().take(MAX_RECORDS).collect();
            let positions: Vec<_> = records.iter().map(|record| record.first).collect();
            let results = self.call(records, deadline).await.map_err(|cause| Undelivered { position: first, cause })?;
            let results = results.iter().map(|result| (result.record_id(), result.error_code()));
            confirm(positions.into_iter().zip(results))?;
        }
        Ok(())
    }

    async fn call(&self, records: Vec<Packed>, deadline: Deadline) -> Result<Vec<PutRecordBatchResponseEntry>, Cause> {
        let count = records.len();
        let records = records.into_iter().map(|record| Record::builder().data(Blob::new(record.lines)).build());
        let records = records.collect::<Result<_, _>>().map_err(|_| Cause::RequestError)?;
        let sent = self.client.put_record_batch().delivery_stream_name(&self.stream).set_records(Some(records)).send();
        one_for_each(count, call(sent, deadline).await?.request_responses)
    }
}

fn pack<'e>(events: impl Iterator<Item = (usize, &'e str)>) -> Vec<Packed> {
    let mut records: Vec<Packed> = Vec::new();
    for (position, event) in events {
        match records.last_mut() {
            Some(record) if record.lines.len() + event.len() < MAX_RECORD_BYTES => record.lines.extend([event, "\n"]),
            _ => records.push(Packed { first: position, lines: [event, "\n"].concat() }),
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_share_a_record_until_it_is_full() {
        let (small, large) = ("x".repeat(400_000), "y".repeat(999_999));
        assert!(Lake::fits(&large) && !Lake::fits(&"y".repeat(1_000_000)));
        let records = pack([&small, &small, &small, &large, "a", "b"].into_iter().enumerate());
        assert_eq!(records.iter().map(|record| record.first).collect::<Vec<_>>(), [0, 2, 3, 4]);
        assert_eq!(records[0].lines, format!("{small}\n{small}\n"));
        assert_eq!(records[2].lines.len(), 1_000_000);
        assert_eq!(records[3].lines, "a\nb\n");
    }
}
