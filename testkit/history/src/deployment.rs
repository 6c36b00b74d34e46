//! What a run needs of AWS: the tables, the queue, the targets of the delivery, and the execution environments of the four
//! functions, each behind its own faults. Must not know what is sent.

use std::ffi::OsString;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use emulator::Emulator;
use tokio::sync::mpsc;

use crate::delivery::Delivery;
use crate::environment::{CLOCK_SKEWS, Environment, SkewedClock};
use crate::options::Options;
use crate::windows::Windows;
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE};
use fault_proxy::{Capacity, Fault, FaultProxy, Limits, Plan, Rule};
use sandbox::runtime_api::EventQueue;
use testkit::TestApp;
use testkit::emulator_options;

/// How long signals are kept.
pub(super) const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Invocations that an environment serves at once, where it serves more than one.
const AT_ONCE: u16 = 4;

/// New tables, a quarter as large as on AWS, since what runs here sends less, and growing within a run.
const LIMITS: Limits = Limits {
    units_per_partition: 250.0,
    partitions: 4,
    burst: Duration::from_mins(5),
    doubles_after: Duration::from_secs(20),
};

/// The function that delivers. Its environments are the last ones.
const DELIVER: &str = "deliver";
const DELIVERERS: usize = 2;

/// A function, with the number of its environments and its timeout.
const FUNCTIONS: [(&str, usize, Duration); 4] = [
    ("signals", 5, Duration::from_secs(10)),
    ("customers", 2, Duration::from_secs(10)),
    ("overflow", 2, Duration::from_mins(1)),
    (DELIVER, DELIVERERS, Duration::from_mins(1)),
];

pub(super) struct Deployment {
    pub(super) emulator: Emulator,
    pub(super) queue: Rc<FakeSqs>,
    queue_proxy: FaultProxy,
    pub(super) environments: Vec<Environment>,
    /// The events of the functions that write, in the order signals, customers, overflow.
    pub(super) events: [EventQueue; 3],
    pub(super) delivery: Delivery,
    /// Whether the clocks of the environments differ.
    pub(super) has_skewed_clocks: bool,
    capacity: Capacity,
}

impl Deployment {
    /// Starts everything; every process writes its log to `log`.
    ///
    /// # Errors
    /// When the clock cannot be compiled, or a program cannot be started.
    pub(super) async fn start(
        options: &Options,
        windows: &Windows,
        log: &mpsc::UnboundedSender<String>,
    ) -> Result<Self> {
        let emulator = TestApp::emulator();
        let clock = SkewedClock::compile()?;
        let queue = FakeSqs::start().await?;
        let queue_plan = Plan::of(windows.queue_rules().into_iter().chain(queue_faults(options.faults)));
        let queue_proxy = FaultProxy::start(&queue.endpoint(), queue_plan.seed(options.seed)).await?;
        let capacity = Capacity::new(if options.outage.is_some() { Limits::default() } else { LIMITS });
        let (writes, done_writes) = mpsc::unbounded_channel();
        let deliver = EventQueue::default();
        let delivery = Delivery::start(done_writes, deliver.clone(), options.faults, options.seed).await?;
        let (mut environments, mut events) = (Vec::new(), Vec::new());
        for (program, count, timeout) in FUNCTIONS {
            let mut process = emulator_options(&options.programs.join(program), "");
            process.log = Some(log.clone());
            if program == DELIVER {
                process.events = deliver.clone();
            }
            process.invocation_timeout = timeout;
            let sqs = if program == "overflow" { queue.endpoint() } else { queue_proxy.endpoint() };
            process.variables.extend(variables(sqs).into_iter().chain(delivery.variables()));
            for nth in 0..count {
                let mut process = process.clone();
                // Every second environment serves several invocations at once.
                process.concurrency = Some(if nth % 2 == 0 { 1 } else { AT_ONCE });
                let number = environments.len();
                if let Some(clock) = &clock {
                    clock.set(&mut process, CLOCK_SKEWS[number % CLOCK_SKEWS.len()]);
                }
                let seed = options.seed.wrapping_mul(1_000).wrapping_add(number as u64);
                let plan = Plan::of(windows.rules().into_iter().chain(faults(options.faults)));
                let plan = plan.capacity(capacity.clone()).seed(seed);
                let proxy = FaultProxy::start(&emulator.endpoint(), plan).await?;
                proxy.report_writes(writes.clone());
                environments.push(Environment::start(process, proxy).await);
            }
            if program != DELIVER {
                events.push(process.events);
            }
        }
        let events = <[_; 3]>::try_from(events).unwrap_or_else(|_| panic!("three functions that write"));
        let has_skewed_clocks = clock.is_some();
        Ok(Self {
            emulator,
            queue: Rc::new(queue),
            queue_proxy,
            environments,
            events,
            delivery,
            has_skewed_clocks,
            capacity,
        })
    }

    /// Ends all faults. The capacity of the tables stays limited.
    pub(super) fn end_faults(&self) {
        self.delivery.control.end_faults();
        self.queue_proxy.set(Plan::none());
        for environment in &self.environments {
            environment.proxy.set(Plan::none().capacity(self.capacity.clone()));
        }
    }

    /// Ends the functions that write, and waits until nothing that they sent is on its way.
    pub(super) async fn end_writers(&mut self) {
        let writers = self.environments.len() - DELIVERERS;
        for environment in self.environments.iter_mut().take(writers) {
            environment.end().await;
        }
    }

    /// Ends the function that delivers.
    pub(super) async fn end_deliverers(&mut self) {
        for environment in self.environments.iter_mut().rev().take(DELIVERERS) {
            environment.end().await;
        }
    }
}

/// The variables that template.yaml sets, with an SQS at this endpoint.
fn variables(sqs: String) -> [(String, OsString); 4] {
    let retention = (RETENTION.as_secs() / 86_400).to_string();
    [
        ("AWS_ENDPOINT_URL_SQS", sqs),
        ("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE.to_owned()),
        ("DEAD_LETTER_QUEUE_URL", DEAD_LETTER_QUEUE.to_owned()),
        ("SIGNAL_RETENTION_DAYS", retention),
    ]
    .map(|(name, value)| (name.to_owned(), value.into()))
}

/// Every kind of fault but refused credentials, with which a process ends, in about `share` of the calls.
fn faults(share: f64) -> impl Iterator<Item = Rule> {
    let parts = [
        (Fault::Throttled, 0.2),
        (Fault::TableThrottled, 0.08),
        (Fault::InternalServerError, 0.15),
        (Fault::ServiceUnavailable, 0.08),
        (Fault::ResetBefore, 0.12),
        (Fault::ResetAfter, 0.17),
        (Fault::CutBody, 0.06),
        (Fault::Slow(Duration::from_millis(40)), 0.05),
        (Fault::Stall, 0.002),
        (Fault::Late(Duration::from_millis(10)), 0.002),
        (Fault::Late(Duration::from_secs(3)), 0.002),
        (Fault::Unprocessed { done: 0 }, 0.04),
        (Fault::Unprocessed { done: 1 }, 0.04),
        (Fault::Unprocessed { done: 12 }, 0.06),
    ];
    parts.into_iter().map(move |(fault, part)| fault.in_share(share * part))
}

/// Seldom enough that no message fails three times in a row.
fn queue_faults(share: f64) -> impl Iterator<Item = Rule> {
    let parts = [(Fault::ServiceUnavailable, 0.1), (Fault::ResetAfter, 0.1), (Fault::CutBody, 0.05)];
    parts.into_iter().map(move |(fault, part)| fault.in_share(share * part))
}
