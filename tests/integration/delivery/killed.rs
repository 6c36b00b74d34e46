//! Nothing is lost, changed or reordered while the function is killed, its target fails, throttles
//! and refuses, and records cannot be read or delivered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use harness::fake_s3::FakeS3;
use harness::fake_targets::{FakeTargets, Target};
use harness::fault_proxy::{AwsService, Fault, Order, Plan};
use harness::function_process::{FunctionProcess, ProcessOptions};
use serde_json::{Value, json};

use crate::support::delivery::{
    BUCKET, HANDLERS, TestedHandler, change_of_customer, customer, delivered, ids, options, signal,
};

/// Records of a shard that are added at once, while fewer wait.
const RECORDS: usize = 300;

/// How often the process is killed at least.
const KILLS: usize = 8;

/// One record of so many cannot be read.
const UNREADABLE_OF: usize = 97;

/// The target refuses one signal of so many, whenever it is sent.
const REFUSED_OF: usize = 89;

/// How many records a batch has at least while the target refuses everything. If it had one alone,
/// the record would be taken for what is at fault.
const MIN_BATCH: usize = 10;

/// How many records a batch has at most.
const MAX_BATCH: usize = 80;

/// How long a process lives at most before it is killed, in milliseconds.
const MAX_LIFETIME: u64 = 200;

/// The share of the target's calls and entries that fail.
const FAILURES: f64 = 0.1;

/// How long the test may take.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The streams, with one shard each.
#[derive(Clone, Copy)]
enum Stream {
    Signals,
    Customers,
}

impl Stream {
    /// The record with this number.
    fn record(self, number: usize) -> Value {
        let mut record = match self {
            Self::Signals if is_refused(number) => signal(number, &json!({"odd": {"BOOL": true}})),
            Self::Signals => signal(number, &json!({})),
            Self::Customers => customer_change(number),
        };
        if is_unreadable(number) {
            record["eventName"] = json!("UPDATE");
        }
        record
    }
}

fn is_unreadable(number: usize) -> bool {
    number % UNREADABLE_OF == UNREADABLE_OF - 1
}

fn is_refused(number: usize) -> bool {
    number % REFUSED_OF == REFUSED_OF - 1
}

/// A customer is created, changed and deleted again and again.
fn customer_change(number: usize) -> Value {
    let id = format!("{:032x}", (1_u128 << 64) + u128::try_from(number).unwrap());
    let old = customer("2026-11-20T22:33:44.123Z", &format!("city {number}"));
    let new = customer("2026-11-21T22:33:44.123Z", &format!("city {}", number + 1));
    match number % 3 {
        0 => change_of_customer(&id, "INSERT", None, Some(&new)),
        1 => change_of_customer(&id, "MODIFY", Some(&old), Some(&new)),
        _ => change_of_customer(&id, "REMOVE", Some(&old), None),
    }
}

/// The records of a shard that are not delivered yet, as Lambda reads them: a batch comes again
/// from its first undelivered record.
struct Shard {
    stream: Stream,
    waiting: VecDeque<Value>,
    /// The records that were added.
    added: Vec<Value>,
}

impl Shard {
    fn new(stream: Stream) -> Self {
        Self {
            stream,
            waiting: VecDeque::new(),
            added: Vec::new(),
        }
    }

    /// Adds records, if few wait.
    fn fill(&mut self) {
        if self.waiting.len() >= RECORDS {
            return;
        }
        for _ in 0..RECORDS {
            let record = self.stream.record(self.added.len());
            self.waiting.push_back(record.clone());
            self.added.push(record);
        }
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

/// Chooses how the failure bucket and the target behave during the next batch. Returns the least size
/// of the batch.
fn choose_behaviour(
    s3: &FakeS3,
    targets: &FakeTargets,
    handler: TestedHandler,
    random: &mut fastrand::Rng,
) -> usize {
    s3.faults().set(Plan::none());
    match random.u8(..10) {
        0 => s3.faults().set(Fault::InternalServerError.always()),
        1 => s3.faults().order(Order::next_calls(
            AwsService::S3,
            "PutObject",
            [Fault::ErrorAfter],
        )),
        _ => {}
    }
    targets.refuse_nothing();
    let refusal = || json!({"__type": handler.refusal});
    let mut min_batch = 1;
    match random.u8(..10) {
        0 => targets.set_unavailable(handler.target),
        1 => targets.refuse(handler.target, "", "ThrottlingException"),
        2 => targets.respond(handler.target, "", 429, Value::Null),
        3 => {
            targets.respond(handler.target, "", 400, refusal());
            min_batch = MIN_BATCH;
            // The batch would end before a record that cannot be kept, perhaps after a single one.
            s3.faults().set(Plan::none());
        }
        // Refuses some records for good.
        4..7 => targets.respond(handler.target, "odd", 413, Value::Null),
        _ => targets.respond(handler.target, "odd", 400, refusal()),
    }
    min_batch
}

#[tokio::test]
async fn bus_gets_every_record_while_processes_die_and_the_bus_fails() {
    let [bus, _] = HANDLERS;
    let seed = fastrand::u64(..);
    // Shown when the test fails.
    println!("the seed is {seed}");
    assert_nothing_is_lost(bus, seed).await;
}

#[tokio::test]
async fn lake_gets_every_record_while_processes_die_and_firehose_fails() {
    let [_, lake] = HANDLERS;
    let seed = fastrand::u64(..);
    // Shown when the test fails.
    println!("the seed is {seed}");
    assert_nothing_is_lost(lake, seed).await;
}

async fn assert_nothing_is_lost(handler: TestedHandler, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let targets = FakeTargets::start().await.unwrap();
    let s3 = FakeS3::start().await.unwrap();
    targets.fail_at_random(FAILURES, random.u64(..));
    let (options, _log) = options(&targets, &s3, handler.variables);
    let mut process = KilledProcess::start(options).await;
    let mut shards = [Shard::new(Stream::Signals), Shard::new(Stream::Customers)];
    let began = Instant::now();
    let mut events = Vec::new();
    // The kills and faults of a seed may miss every call that was under way.
    while process.kills < KILLS || copies(&events) == 0 {
        assert!(began.elapsed() < TIMEOUT, "{} kills", process.kills);
        let shard = &mut shards[random.usize(..2)];
        shard.fill();
        let min_batch = choose_behaviour(&s3, &targets, handler, &mut random);
        let batch = shard.event(random.usize(min_batch..MAX_BATCH));
        let lifetime = Duration::from_millis(random.u64(1..MAX_LIFETIME));
        process.deliver(batch, shard, lifetime).await;
        events.extend(delivered(&targets));
    }
    s3.faults().set(Plan::none());
    targets.fail_at_random(0.0, 0);
    targets.refuse_nothing();
    let refusal = json!({"__type": handler.refusal});
    targets.respond(handler.target, "odd", 400, refusal);
    for shard in &mut shards {
        while !shard.waiting.is_empty() {
            let left = shard.waiting.len();
            assert!(began.elapsed() < TIMEOUT, "{left} records are left");
            let batch = shard.event(MAX_BATCH);
            process.deliver(batch, shard, TIMEOUT).await;
        }
    }
    assert_eq!(process.process.invocation_errors(), 0);
    events.extend(delivered(&targets));
    assert_copies_are_equal(&events);
    let kept = s3.paths(&format!("/{BUCKET}/"));
    for shard in &shards {
        assert_shard_is_delivered(shard, handler, &events, &kept);
    }
}

/// An event that came twice is the same: consumers may drop one.
fn assert_copies_are_equal(events: &[Value]) {
    let mut first_copies: BTreeMap<String, &Value> = BTreeMap::new();
    for event in events {
        let first = first_copies.entry(source_and_id(event)).or_insert(event);
        assert_eq!(*first, event);
    }
    assert!(
        copies(events) > 0,
        "nothing came twice: the faults did nothing"
    );
}

/// How many events are copies of earlier ones.
fn copies(events: &[Value]) -> usize {
    let distinct: BTreeSet<String> = events.iter().map(source_and_id).collect();
    events.len() - distinct.len()
}

fn source_and_id(event: &Value) -> String {
    format!("{} {}", event["source"], event["id"])
}

/// The target has every record of the shard, but those that cannot be read or that it refuses, and
/// the last copies are in the order of the stream. The failure bucket has the others.
fn assert_shard_is_delivered(
    shard: &Shard,
    handler: TestedHandler,
    events: &[Value],
    kept: &[String],
) {
    let (source, refused_of_shard): (_, fn(usize) -> bool) = match shard.stream {
        Stream::Signals => ("/accounts/acme/signals", is_refused),
        Stream::Customers => ("/accounts/acme/customers", |_| false),
    };
    let of_shard: Vec<_> = events
        .iter()
        .filter(|event| event["source"] == source)
        .cloned()
        .collect();
    let last_copies = last_copies(&ids(&of_shard));
    let mut expected = Vec::new();
    let mut refused = BTreeSet::new();
    for (number, record) in shard.added.iter().enumerate() {
        let event_id = match shard.stream {
            Stream::Signals => record["dynamodb"]["Keys"]["sk"]["S"].as_str(),
            Stream::Customers => record["eventID"].as_str(),
        };
        let event_id = event_id.unwrap().to_owned();
        if is_unreadable(number) || refused_of_shard(number) {
            let key = record["eventID"].as_str().unwrap();
            let path = format!("/{BUCKET}/unreadable/2026/11/20/{key}.json");
            assert!(kept.contains(&path), "{path} is not kept");
        }
        if is_unreadable(number) {
            assert!(!last_copies.contains(&event_id));
        } else if refused_of_shard(number) {
            refused.insert(event_id);
        } else {
            expected.push(event_id);
        }
    }
    // A claim check follows behind the other events of its batch, in no other order.
    let in_order: Vec<_> = last_copies
        .iter()
        .filter(|id| !refused.contains(*id))
        .cloned()
        .collect();
    assert_eq!(in_order, expected);
    let claim_checks = last_copies.len() - in_order.len();
    let expected_claim_checks = match handler.target {
        Target::Bus => refused.len(),
        Target::Lake => 0,
    };
    assert_eq!(claim_checks, expected_claim_checks);
}

/// The ids in the order of their last copies.
fn last_copies(ids: &[String]) -> Vec<String> {
    let mut last: BTreeMap<&String, usize> = BTreeMap::new();
    for (place, id) in ids.iter().enumerate() {
        last.insert(id, place);
    }
    let mut last: Vec<_> = last.into_iter().collect();
    last.sort_by_key(|(_, place)| *place);
    last.into_iter().map(|(id, _)| id.clone()).collect()
}
