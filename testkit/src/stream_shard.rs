//! A shard of a DynamoDB stream, as Lambda reads it: a batch comes again from its first undelivered record. Must not know what
//! is in a record.

use std::collections::VecDeque;

use serde_json::Value;

/// The records that are not delivered yet, in their order.
#[derive(Debug, Default)]
pub struct Shard {
    /// The sequence number and the JSON of each.
    waiting: VecDeque<(Value, String)>,
}

impl Shard {
    /// Appends a record.
    pub fn push(&mut self, record: &Value) {
        self.waiting.push_back((record["dynamodb"]["SequenceNumber"].clone(), record.to_string()));
    }

    /// How many records are not delivered yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next batch, of `at_most` records.
    pub fn next_batch(&self, at_most: usize) -> Batch {
        let records: Vec<_> = self.waiting.iter().take(at_most).map(|(_, json)| json.as_str()).collect();
        Batch { event: format!("{{\"Records\":[{}]}}", records.join(",")), records: records.len() }
    }

    /// Goes on after the response to `batch`: the records before the failed one are delivered.
    ///
    /// # Panics
    /// When it is not the response to this batch.
    pub fn advance(&mut self, batch: &Batch, response: &Value) {
        let failures = response["batchItemFailures"].as_array().expect("the response to a batch");
        assert!(failures.len() <= 1, "{response}");
        let delivered = failures.first().map_or(batch.records, |failure| {
            let is_failed = |(number, _): &(Value, String)| *number == failure["itemIdentifier"];
            self.waiting.iter().take(batch.records).position(is_failed).expect("a record of the batch failed")
        });
        self.waiting.drain(..delivered);
    }
}

/// Records that the function gets in one invocation.
#[derive(Debug)]
pub struct Batch {
    /// The event.
    pub event: String,
    /// How many records it has.
    pub records: usize,
}
