//! The event source mapping between the stream of the signals and the function that delivers them: a shard's records in their
//! order, a batch again from its first failed record. Takes what the targets got meanwhile. Must not know what is correct.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::delivered::Event;
use super::delivery_checker::DeliveredSignal;
use super::stream::{SHARDS, SignalStream, shard_of};
use crate::fake_targets::{FakeTargets, Target};
use crate::runtime_api::EventQueue;

/// Records of a batch: delivery.yaml's for the bus.
const BATCH: usize = 500;

/// Before a batch that failed comes again. On AWS it grows to minutes.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Of the share of calls to DynamoDB that fail, this part of the calls to the targets and of their entries and records fails.
/// A batch of 500 goes to the bus in 50 calls, and begins again at the first that fails.
const FAULT_PART: f64 = 0.01;

/// What came of the invocations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Invocations {
    /// All of them.
    pub total: u64,
    /// Those with a failed record.
    pub failed: u64,
    /// Those whose process was killed, or that ended in an error.
    pub lost: u64,
}

/// The delivery of one run.
pub(super) struct Delivery {
    pub(super) targets: FakeTargets,
    stream: RefCell<SignalStream>,
    delivered: RefCell<Vec<DeliveredSignal>>,
    invocations: Cell<Invocations>,
    /// The number of the batch of each shard that is being delivered.
    batches: Cell<[u64; SHARDS]>,
    has_faults: Cell<bool>,
    /// Whether nothing is written any more.
    is_over: Cell<bool>,
}

impl Delivery {
    /// The delivery of these writes, to targets that fail like this.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub(super) async fn new(writes: mpsc::UnboundedReceiver<Vec<u8>>, faults: f64, seed: u64) -> Result<Self> {
        let targets = FakeTargets::start().await?;
        targets.set_seed(seed.rotate_left(24));
        targets.fail_at_random(faults * FAULT_PART);
        Ok(Self {
            targets,
            stream: RefCell::new(SignalStream::new(writes)),
            delivered: RefCell::default(),
            invocations: Cell::default(),
            batches: Cell::default(),
            has_faults: Cell::new(true),
            is_over: Cell::new(false),
        })
    }

    /// The variables that delivery.yaml sets, with both targets in one function.
    pub(super) fn variables(&self) -> [(String, OsString); 6] {
        let endpoint = self.targets.endpoint();
        [
            ("EVENT_BUS_NAME", "company"),
            ("DELIVERY_STREAM_NAME", "intake-lake"),
            ("FAILURE_BUCKET_NAME", "intake-failures"),
            ("AWS_ENDPOINT_URL_EVENTBRIDGE", &endpoint),
            ("AWS_ENDPOINT_URL_FIREHOSE", &endpoint),
            ("AWS_ENDPOINT_URL_S3", &endpoint),
        ]
        .map(|(name, value)| (name.to_owned(), value.into()))
    }

    /// Takes each target away for moments, until the faults end.
    pub(super) async fn take_targets_away(&self, mut random: fastrand::Rng) {
        loop {
            sleep(Duration::from_millis(random.u64(1_000..12_000))).await;
            let target = if random.bool() { Target::Bus } else { Target::Lake };
            if !self.has_faults.get() {
                return;
            }
            self.targets.set_away(target, true);
            sleep(Duration::from_millis(random.u64(50..3_000))).await;
            self.targets.set_away(target, false);
        }
    }

    /// Ends all faults of the targets.
    pub(super) fn end_faults(&self) {
        self.has_faults.set(false);
        self.targets.fail_at_random(0.0);
        for target in [Target::Bus, Target::Lake] {
            self.targets.set_away(target, false);
        }
    }

    /// Has the shards end when they have delivered what is written.
    pub(super) fn end(&self) {
        self.is_over.set(true);
    }

    /// Takes what was delivered.
    pub(super) fn take(&self) -> (Vec<DeliveredSignal>, Invocations) {
        (self.delivered.take(), self.invocations.get())
    }

    /// How many records wait.
    pub(super) fn waiting(&self) -> usize {
        self.stream.borrow().shards.iter().map(|shard| shard.waiting()).sum()
    }

    /// Delivers the records of one shard to their end.
    pub(super) async fn deliver_shard(&self, shard: usize, events: EventQueue) {
        loop {
            // In this order: what is written before it is over is seen.
            let is_last = self.is_over.get();
            self.collect();
            let batch = self.stream.borrow().shards[shard].next_batch(BATCH);
            if batch.records == 0 {
                if is_last {
                    return;
                }
                sleep(Duration::from_millis(20)).await;
                continue;
            }
            let mut batches = self.batches.get();
            batches[shard] = batches[shard].saturating_add(1);
            self.batches.set(batches);
            let response = events.invoke(batch.event.clone().into()).await.map(|invocation| invocation.json());
            self.collect();
            let mut invocations = self.invocations.get();
            invocations.total = invocations.total.saturating_add(1);
            let is_delivered = match response.filter(|response| response["batchItemFailures"].is_array()) {
                None => {
                    invocations.lost = invocations.lost.saturating_add(1);
                    false
                }
                Some(response) => {
                    self.stream.borrow_mut().shards[shard].advance(&batch, &response);
                    let is_failed = response["batchItemFailures"][0].is_object();
                    invocations.failed = invocations.failed.saturating_add(is_failed.into());
                    !is_failed
                }
            };
            self.invocations.set(invocations);
            if !is_delivered {
                sleep(RETRY_PAUSE).await;
            }
        }
    }

    /// Takes what was written, and what the targets took: whole events are too large to be kept for a million signals.
    fn collect(&self) {
        let mut stream = self.stream.borrow_mut();
        stream.update();
        drop(self.targets.take_calls());
        let details = self.targets.take_entries();
        let on_the_bus = details.iter().filter_map(|entry| entry["Detail"].as_str()).map(|event| (Target::Bus, event));
        let records = self.targets.take_records();
        let in_the_lake = records.iter().flat_map(|record| record.lines()).map(|event| (Target::Lake, event));
        for (target, event) in on_the_bus.chain(in_the_lake) {
            let event = Event::parse(event);
            let [pk, sk] = event.key();
            let shard = shard_of(&pk);
            // Unlike those of the other shards.
            let batch = self.batches.get()[shard].saturating_mul(SHARDS as u64).saturating_add(shard as u64);
            let signal = event.signal(target, batch, stream.position(&pk, &sk));
            self.delivered.borrow_mut().push(signal);
        }
    }
}
