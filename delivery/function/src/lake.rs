//! The Firehose stream that writes the lake. Must not know what is in an event.
//!
//! Source: `PutRecordBatch` in the Firehose API reference.

use aws_sdk_firehose::Client;
use aws_sdk_firehose::primitives::Blob;
use aws_sdk_firehose::types::Record;
use store::deadline::Deadline;
use store::environment::ConfigError;

use crate::clients::{Cause, Undelivered, call, config, confirm};

/// The largest record, in bytes: "as large as 1,000 KB (before base64 encoding)".
const MAX_RECORD_BYTES: usize = 1_000_000;

/// Records of one call: "up to a limit of 4 MB for the entire request", also if that is after base64 encoding.
const MAX_RECORDS: usize = 3;

/// The stream.
#[derive(Debug)]
pub(crate) struct Lake {
    client: Client,
    stream: String,
}

/// A record: lines of JSON, one for each event. Each record is billed as a multiple of 5 KB ("Amazon Data Firehose pricing"),
/// so one event in each would cost several times as much.
#[derive(Debug, PartialEq, Eq)]
struct Packed {
    /// The position of its first event.
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

    /// Sends events in their order, call by call, until a record is not taken. That costs its first event.
    pub(crate) async fn put(&self, events: &[&str], deadline: Deadline) -> Result<(), Undelivered> {
        let mut records = pack(events).into_iter().peekable();
        while records.peek().is_some() {
            let records: Vec<_> = records.by_ref().take(MAX_RECORDS).collect();
            let firsts: Vec<_> = records.iter().map(|record| record.first).collect();
            self.call(records, deadline).await.map_err(|Undelivered { position, cause }| Undelivered {
                position: firsts.get(position).copied().unwrap_or_default(),
                cause,
            })?;
        }
        Ok(())
    }

    async fn call(&self, records: Vec<Packed>, deadline: Deadline) -> Result<(), Undelivered> {
        let count = records.len();
        let records = records.into_iter().map(|record| Record::builder().data(Blob::new(record.lines)).build());
        let records = records.collect::<Result<_, _>>().map_err(|_| Cause::RequestError)?;
        let sent = self.client.put_record_batch().delivery_stream_name(&self.stream).set_records(Some(records)).send();
        let output = call(sent, deadline).await?;
        let results = output.request_responses().iter().map(|result| (result.record_id(), result.error_code()));
        confirm(count, results)
    }
}

fn pack(events: &[&str]) -> Vec<Packed> {
    let mut records: Vec<Packed> = Vec::new();
    for (position, event) in events.iter().enumerate() {
        match records.last_mut() {
            Some(record) if record.lines.len() + event.len() < MAX_RECORD_BYTES => record.lines.push_str(event),
            _ => records.push(Packed { first: position, lines: (*event).to_owned() }),
        }
        if let Some(record) = records.last_mut() {
            record.lines.push('\n');
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
        let records = pack(&[&small, &small, &small, &large, "a", "b"]);
        assert_eq!(records.iter().map(|record| record.first).collect::<Vec<_>>(), [0, 2, 3, 4]);
        assert_eq!(records[0].lines, format!("{small}\n{small}\n"));
        assert_eq!(records[2].lines.len(), 1_000_000);
        assert_eq!(records[3].lines, "a\nb\n");
    }
}
