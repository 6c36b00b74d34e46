//! The event source mapping between the stream of the signals and the function that delivers them: a shard's records in their
//! order, a batch again from its first failed record. Takes what the targets got meanwhile. Must not know what is correct.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;

use crate::delivered::Event;
use crate::delivery_checker::DeliveredSignal;
use crate::stream::{SHARDS, SignalStream, shard_of};
use sandbox::fake_targets::{FakeTargets, Target};
use sandbox::runtime_api::EventQueue;
use testkit::stream_shard::Shard;

/// Records of a batch: delivery/template.yaml's for the bus.
const BATCH: usize = 500;

/// Before a batch that failed comes again. On AWS it grows to minutes.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Of the share of calls to DynamoDB that fail, this part of the calls to the targets and of their entries and records fails.
/// A batch of 500 goes to the bus in 50 calls, and begins again at the first that fails.
const FAULT_PART: f64 = 0.01;

/// What the targets took, and how.
pub(super) struct Deliveries {
    /// The signals in the order of their arrival.
    pub(super) signals: Vec<DeliveredSignal>,
    /// Invocations after which a batch came again: its process ended, or a record failed.
    pub(super) repeated: u64,
    /// The records that are in the failure bucket.
    pub(super) unreadable: usize,
}

/// The delivery of one run, in a thread of its own: the clients do not wait while it reads events.
pub(super) struct Delivery {
    pub(super) control: Arc<Control>,
    targets: String,
    result: oneshot::Receiver<Deliveries>,
}

/// What the run says to the delivery, and what it hears.
#[derive(Default)]
pub(super) struct Control {
    are_faults_over: AtomicBool,
    are_writes_over: AtomicBool,
    waiting: AtomicUsize,
}

impl Control {
    /// Ends all faults of the targets.
    pub(super) fn end_faults(&self) {
        self.are_faults_over.store(true, Ordering::Relaxed);
    }

    /// How many records are not delivered yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

impl Delivery {
    /// Starts to deliver these writes with the function of these events, to targets of which this share of calls fails.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub(super) async fn start(
        writes: mpsc::UnboundedReceiver<Vec<u8>>,
        events: EventQueue,
        faults: f64,
        seed: u64,
    ) -> Result<Self> {
        let control = Arc::new(Control::default());
        let (endpoint, targets) = oneshot::channel();
        let (sender, result) = oneshot::channel();
        let of_thread = control.clone();
        std::thread::Builder::new().name("delivery".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async {
                let targets = FakeTargets::start().await.expect("loopback has a free port");
                let _ = endpoint.send(targets.endpoint());
                targets.fail_at_random(faults * FAULT_PART, seed.rotate_left(24));
                let source = Rc::new(EventSource::new(of_thread, targets, events, writes));
                let _ = sender.send(source.run(fastrand::Rng::with_seed(seed.rotate_left(8))).await);
            });
        })?;
        Ok(Self { control, targets: targets.await?, result })
    }

    /// The variables that delivery/template.yaml sets, with both targets in one function.
    pub(super) fn variables(&self) -> [(String, OsString); 6] {
        [
            ("EVENT_BUS_NAME", "company"),
            ("DELIVERY_STREAM_NAME", "intake-lake"),
            ("FAILURE_BUCKET_NAME", "intake-failures"),
            ("AWS_ENDPOINT_URL_EVENTBRIDGE", &self.targets),
            ("AWS_ENDPOINT_URL_FIREHOSE", &self.targets),
            ("AWS_ENDPOINT_URL_S3", &self.targets),
        ]
        .map(|(name, value)| (name.to_owned(), value.into()))
    }

    /// Waits until what is written is delivered. Nothing is written any more.
    ///
    /// # Errors
    /// When the delivery has failed.
    pub(super) async fn end(&mut self) -> Result<Deliveries> {
        self.control.are_writes_over.store(true, Ordering::Relaxed);
        (&mut self.result).await.context("the delivery has ended early")
    }
}

/// The event source mapping.
struct EventSource {
    control: Arc<Control>,
    targets: FakeTargets,
    events: EventQueue,
    stream: RefCell<SignalStream>,
    delivered: RefCell<Vec<DeliveredSignal>>,
    repeated: Cell<u64>,
    /// The number of the batch of each shard that is being delivered.
    batches: Cell<[u64; SHARDS]>,
}

impl EventSource {
    fn new(
        control: Arc<Control>,
        targets: FakeTargets,
        events: EventQueue,
        writes: mpsc::UnboundedReceiver<Vec<u8>>,
    ) -> Self {
        Self {
            control,
            targets,
            events,
            stream: RefCell::new(SignalStream::new(writes)),
            delivered: RefCell::default(),
            repeated: Cell::default(),
            batches: Cell::default(),
        }
    }

    /// Delivers all shards to their end.
    async fn run(self: Rc<Self>, random: fastrand::Rng) -> Deliveries {
        let source = self.clone();
        let faults = tokio::task::spawn_local(async move { source.take_targets_away(random).await });
        let mut shards = JoinSet::new();
        for shard in 0..SHARDS {
            let source = self.clone();
            shards.spawn_local(async move { source.deliver_shard(shard).await });
        }
        shards.join_all().await;
        faults.abort();
        Deliveries {
            signals: self.delivered.take(),
            repeated: self.repeated.get(),
            unreadable: self.targets.objects().len(),
        }
    }

    /// Takes each target away for moments.
    async fn take_targets_away(&self, mut random: fastrand::Rng) {
        loop {
            sleep(Duration::from_millis(random.u64(1_000..12_000))).await;
            let target = if random.bool() { Target::Bus } else { Target::Lake };
            self.targets.set_away(target, true);
            sleep(Duration::from_millis(random.u64(50..3_000))).await;
            self.targets.set_away(target, false);
            if self.control.are_faults_over.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Delivers the records of one shard to their end.
    async fn deliver_shard(&self, shard: usize) {
        loop {
            // In this order: what is written before it is over is seen.
            let is_last = self.control.are_writes_over.load(Ordering::Relaxed);
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
            batches[shard] += 1;
            self.batches.set(batches);
            let response = self.events.invoke(batch.event.clone().into()).await.map(|invocation| invocation.json());
            self.collect();
            // There is none when the process ended, and an error has no failures.
            let response = response.filter(|response| response["batchItemFailures"].is_array());
            let is_delivered = response.is_some_and(|response| {
                self.stream.borrow_mut().shards[shard].advance(&batch, &response);
                response["batchItemFailures"][0].is_null()
            });
            if !is_delivered {
                self.repeated.set(self.repeated.get() + 1);
                sleep(RETRY_PAUSE).await;
            }
        }
    }

    /// Takes what was written, and what the targets took: whole events are too large to be kept for a million signals.
    fn collect(&self) {
        let mut stream = self.stream.borrow_mut();
        stream.update();
        let waiting = stream.shards.iter().map(Shard::waiting).sum();
        self.control.waiting.store(waiting, Ordering::Relaxed);
        if self.control.are_faults_over.load(Ordering::Relaxed) {
            self.targets.fail_at_random(0.0, 0);
        }
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
            let batch = self.batches.get()[shard] * SHARDS as u64 + shard as u64;
            let signal = event.signal(target, batch, stream.position(&pk, &sk));
            self.delivered.borrow_mut().push(signal);
        }
    }
}
