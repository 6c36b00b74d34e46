//! Every record is delivered while the function is killed and its targets fail.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::fake_targets::FakeTargets;
use testkit::function_process::{FunctionProcess, ProcessOptions};

use crate::support::delivery::{BOTH, id, ids, ids_of, ids_of_lines, options, signals};

/// Records that are added at once, while fewer wait.
const RECORDS: usize = 300;

/// How often the process is killed.
const KILLS: usize = 8;

/// The number of the record that no function can read.
const UNREADABLE: usize = RECORDS / 2;

/// How many records a batch has at most.
const MAX_BATCH: usize = 80;

/// How long a process lives at most before it is killed, in milliseconds.
const MAX_LIFETIME: u64 = 200;

/// The share of the targets' calls and entries that fail.
const FAILURES: f64 = 0.1;

/// How long the test may take.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The records of a shard that are not delivered yet, as Lambda reads them: a batch comes again
/// from its first undelivered record.
#[derive(Default)]
struct Shard {
    waiting: VecDeque<Value>,
    /// How many records were added.
    added: usize,
}

impl Shard {
    /// Adds records. One of them cannot be read.
    fn add(&mut self) {
        let mut records = signals(self.added..self.added + RECORDS);
        if self.added == 0 {
            records[UNREADABLE]["eventName"] = json!("UPDATE");
        }
        self.waiting.extend(records);
        self.added += RECORDS;
    }

    /// The event of a batch of at most so many records.
    fn event(&self, at_most: usize) -> Value {
        json!({"Records": self.waiting.iter().take(at_most).collect::<Vec<_>>()})
    }

    /// Goes on after the response to a batch: the records before the failed one are delivered.
    fn advance(&mut self, batch: &Value, response: &Value) {
        let records = batch["Records"].as_array().unwrap();
        let failed = &response["batchItemFailures"]
            .as_array()
            .expect("the response to a batch")[..];
        assert!(failed.len() <= 1, "{response}");
        let delivered = failed.first().map_or(records.len(), |failed| {
            let is_failed =
                |record: &Value| record["dynamodb"]["SequenceNumber"] == failed["itemIdentifier"];
            records
                .iter()
                .position(is_failed)
                .expect("a record of the batch failed")
        });
        self.waiting.drain(..delivered);
    }
}

/// A process of the function that is replaced when it is killed.
struct KilledProcess {
    options: ProcessOptions,
    process: FunctionProcess,
    kills: usize,
}

impl KilledProcess {
    async fn start(options: ProcessOptions) -> Self {
        let process = FunctionProcess::start(&options).await.unwrap();
        Self {
            options,
            process,
            kills: 0,
        }
    }

    /// Delivers a batch of the shard. The process is killed when it has no response in `lifetime`.
    async fn deliver(&mut self, batch: Value, shard: &mut Shard, lifetime: Duration) {
        let invocation = self.options.events.invoke(batch.to_string().into());
        tokio::pin!(invocation);
        let responded = tokio::time::timeout(lifetime, &mut invocation).await;
        if let Ok(response) = responded {
            shard.advance(&batch, &response.unwrap().json());
            return;
        }
        self.process.kill().await.unwrap();
        self.process = FunctionProcess::start(&self.options).await.unwrap();
        self.kills += 1;
        // The next process gets an event that the killed one had not taken.
        if let Some(response) = invocation.await {
            shard.advance(&batch, &response.json());
        }
    }
}

/// The ids in the order of their last copies.
fn last_copies(ids: &[String]) -> Vec<&String> {
    let last: BTreeMap<&String, usize> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| (id, place))
        .collect();
    let mut last: Vec<_> = last.into_iter().collect();
    last.sort_by_key(|(_, place)| *place);
    last.into_iter().map(|(id, _)| id).collect()
}

#[tokio::test]
async fn every_record_is_delivered_while_processes_die_and_targets_fail() {
    let seed = fastrand::u64(..);
    // Shown when the test fails.
    println!("the seed is {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let targets = FakeTargets::start().await.unwrap();
    targets.fail_at_random(FAILURES, random.u64(..));
    let (options, _log) = options(&targets, BOTH);
    let mut process = KilledProcess::start(options).await;
    let mut shard = Shard::default();
    let began = Instant::now();
    while process.kills < KILLS {
        assert!(began.elapsed() < TIMEOUT, "{} kills", process.kills);
        if shard.waiting.len() < RECORDS {
            shard.add();
        }
        let batch = shard.event(random.usize(1..MAX_BATCH));
        let lifetime = Duration::from_millis(random.u64(1..MAX_LIFETIME));
        process.deliver(batch, &mut shard, lifetime).await;
    }
    targets.fail_at_random(0.0, 0);
    while !shard.waiting.is_empty() {
        let left = shard.waiting.len();
        assert!(began.elapsed() < TIMEOUT, "{left} records are left");
        let batch = shard.event(MAX_BATCH);
        process.deliver(batch, &mut shard, TIMEOUT).await;
    }
    assert_eq!(process.kills, KILLS);
    assert_eq!(process.process.invocation_errors(), 0);
    assert_all_delivered(&targets, shard.added);
}

/// The targets got every record but the unreadable one, and the last copies are in the order of the
/// stream. Some came twice.
fn assert_all_delivered(targets: &FakeTargets, records: usize) {
    let expected = ids_of((0..records).filter(|number| *number != UNREADABLE));
    let lines: Vec<_> = targets
        .take_records()
        .iter()
        .flat_map(|record| record.lines())
        .map(ToOwned::to_owned)
        .collect();
    let detail = |entry: &Value| serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
    let on_the_bus: Vec<Value> = targets.take_entries().iter().map(detail).collect();
    for delivered in [ids_of_lines(&lines), ids(&on_the_bus)] {
        assert_eq!(last_copies(&delivered), expected.iter().collect::<Vec<_>>());
        assert!(
            delivered.len() > expected.len(),
            "nothing came twice: the faults did nothing"
        );
    }
    let unreadable = id(UNREADABLE);
    assert_eq!(
        targets.objects().len(),
        1,
        "the unreadable record {unreadable}"
    );
}
