//! The stream of the signals, made of the writes that DynamoDB has done, since the emulator's own costs more with each write:
//! a record for each new item, in shards by partition key. Must not know who reads it.

use std::collections::HashMap;

use consistency::Fingerprint;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use testkit::Tables;
use testkit::stream_shard::Shard;

/// Shards of the stream.
pub(super) const SHARDS: usize = 4;

pub(super) struct SignalStream {
    writes: mpsc::UnboundedReceiver<Vec<u8>>,
    /// The position in the stream of each item, by its key. To write an item again is no event.
    positions: HashMap<Fingerprint, u32>,
    pub(super) shards: [Shard; SHARDS],
}

impl SignalStream {
    /// The stream of these writes: the bodies of `BatchWriteItem` and `PutItem` calls.
    pub(super) fn new(writes: mpsc::UnboundedReceiver<Vec<u8>>) -> Self {
        Self { writes, positions: HashMap::new(), shards: Default::default() }
    }

    /// Makes records of the writes so far.
    pub(super) fn update(&mut self) {
        while let Ok(body) = self.writes.try_recv() {
            // By the function of serde_json's own that is optimized in tests.
            let write: Value = String::from_utf8(body).unwrap().parse().unwrap();
            let table = Tables::name("SignalsTable");
            if write["TableName"] == table {
                self.write(&write["Item"]);
            } else if let Some(puts) = write["RequestItems"][table].as_array() {
                for put in puts {
                    self.write(&put["PutRequest"]["Item"]);
                }
            }
        }
    }

    /// The position in the stream of the item with this key.
    pub(super) fn position(&self, pk: &str, sk: &str) -> Option<u32> {
        self.positions.get(&key(pk, sk)).copied()
    }

    fn write(&mut self, item: &Value) {
        let [pk, sk] = ["pk", "sk"].map(|name| item[name]["S"].as_str().expect("an item has its key"));
        let position = u32::try_from(self.positions.len()).expect("fewer items than 2^32");
        if self.positions.contains_key(&key(pk, sk)) {
            return;
        }
        self.positions.insert(key(pk, sk), position);
        // What the function reads of a record as in events/stream/signals.json.
        let record = json!({
            "eventID": format!("{position:032x}"),
            "eventName": "INSERT",
            "dynamodb": {
                "Keys": {"pk": item["pk"], "sk": item["sk"]},
                "NewImage": item,
                "SequenceNumber": format!("{position:027}"),
            },
        });
        self.shards[shard_of(pk)].push(&record);
    }
}

/// The shard of the items with this partition key.
pub(super) fn shard_of(pk: &str) -> usize {
    crc32fast::hash(pk.as_bytes()) as usize % SHARDS
}

fn key(pk: &str, sk: &str) -> Fingerprint {
    Fingerprint::of(&format!("{pk} {sk}"))
}
