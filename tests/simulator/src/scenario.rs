//! What a run is like: drawn from its seed, so that a thousand seeds are a thousand different
//! combinations of traffic and faults. This module must not know what is correct.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use crate::aws::WRITE_OF_PART;
use crate::aws::dynamodb::{API_KEYS, CUSTOMERS, IDEMPOTENCY, REJECTED_SIGNALS, SIGNALS};
use crate::aws::faults::{CUT_RESPONSE, Fault, FaultPlan, Rule, Target};
use crate::lambda::Lifetimes;

/// Keys of one customer or emitter, and of more than a quarter of them.
const HOT_KEYS: [&str; 3] = ["#canary-7e1d-7", "#canary-7e1d-3", "#canary-7e1d-1"];

/// What a run is like.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How long clients send.
    pub lasts: Duration,
    pub signal_clients: u64,
    pub customer_clients: u64,
    /// Clients that send nothing after all: see [`Cut`](crate::cut::Cut).
    pub absent_clients: BTreeSet<u64>,
    /// The most signals of a request.
    pub max_signals: usize,
    /// Customers and emitters of an account that signals are for.
    pub subjects: u32,
    /// Customers of an account that all clients update at one time.
    pub customers: u32,
    /// How long a client waits between two requests at most, in milliseconds.
    pub pause: u64,
    /// The share of the responses that do not reach their client, because the connection broke.
    pub lost_responses: f64,
    /// How long an import waits between two lines at most, in milliseconds. `None` without imports.
    pub import_pause: Option<u64>,
    /// Operators that erase customers.
    pub erasing_operators: u32,
    /// When keys are revoked.
    pub revocation_at: Option<Duration>,
    pub lifetimes: Lifetimes,
    pub faults: FaultPlan,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn of_seed(seed: u64) -> Self {
        Self::random(&mut fastrand::Rng::with_seed(seed))
    }

    /// A scenario that is drawn.
    pub fn random(random: &mut fastrand::Rng) -> Self {
        match random.u8(..12) {
            0 | 1 => Self::with_revocation(random),
            2 => Self::with_unknown_records(random),
            3 => Self::with_slow_drains(random),
            4 => Self::with_erasures(random),
            5 => Self::with_large_batches(random),
            6 => Self::with_failing_queue(random),
            7 | 8 => Self::contended(random),
            _ => Self::mixed(random),
        }
    }

    /// All kinds of requests, for many customers.
    fn mixed(random: &mut fastrand::Rng) -> Self {
        let lasts = Duration::from_secs(random.u64(15..60));
        let max_signals = [2, 8, 60][random.usize(..3)];
        let mut rules = windows(random, lasts, 1_000..12_000, None);
        rules.extend(single_faults([0.0, 0.03, 0.1, 0.25][random.usize(..4)]));
        let pause = if max_signals > 10 { 4_000 } else { 900 };
        Self {
            lasts,
            signal_clients: random.u64(2..6),
            customer_clients: random.u64(2..6),
            absent_clients: BTreeSet::new(),
            max_signals,
            subjects: random.u32(2..40),
            customers: random.u32(3..10),
            pause,
            lost_responses: 0.08,
            import_pause: random.bool().then_some(pause),
            erasing_operators: random.u32(..2),
            revocation_at: None,
            lifetimes: Lifetimes {
                start: 50..300,
                events: 5..40,
                kills: [0.0, 0.02, 0.08][random.usize(..3)],
                have_clocks: random.bool(),
            },
            faults: FaultPlan(rules),
        }
    }

    /// All clients update one or two customers, whose table fails often: so direct, deferred and late
    /// writes of the same fields meet.
    fn contended(random: &mut fastrand::Rng) -> Self {
        let mixed = Self::mixed(random);
        let mut rules = windows(random, mixed.lasts, 300..3_000, Some(CUSTOMERS));
        rules.push(late_parts(0.1));
        rules.extend(single_faults([0.1, 0.25, 0.4][random.usize(..3)]));
        Self {
            signal_clients: 0,
            customer_clients: random.u64(3..9),
            customers: random.u32(1..3),
            pause: [100, 400, 900][random.usize(..3)],
            faults: FaultPlan(rules),
            ..mixed
        }
    }

    /// Keys are revoked, and clients go on to use them for minutes, with environments that live long.
    /// In a third of the runs nothing fails, in another third the key table fails for good, from before
    /// or after the revocation. S3 responds, as the promise requires.
    fn with_revocation(random: &mut fastrand::Rng) -> Self {
        let mut mixed = Self::mixed(random);
        let rules = &mut mixed.faults.0;
        rules.retain(|rule| rule.target != Target::S3);
        match random.u8(..3) {
            0 => rules.clear(),
            1 => {
                let begin = Duration::from_millis(random.u64(..40_000));
                let faults = [Fault::Hangs, Fault::ServerError, Fault::Throttled];
                let fault = faults[random.usize(..3)].clone();
                rules.insert(
                    0,
                    always(Target::Table(API_KEYS), begin..Duration::MAX, fault),
                );
            }
            _ => {}
        }
        Self {
            lasts: Duration::from_secs(260),
            max_signals: 2,
            pause: 8_000,
            revocation_at: Some(Duration::from_millis(random.u64(1_000..60_000))),
            lifetimes: Lifetimes {
                events: 1_000..1_001,
                kills: 0.0,
                ..mixed.lifetimes
            },
            ..mixed
        }
    }

    /// The table of the idempotency records alone fails, again and again, and clients often send a
    /// batch again although the first attempt was served.
    fn with_unknown_records(random: &mut fastrand::Rng) -> Self {
        let mixed = Self::mixed(random);
        let faults = [Fault::Hangs, Fault::ServerError, Fault::Late(0..4_000)];
        let mut rules = Vec::new();
        let mut begin = Duration::ZERO;
        while begin < mixed.lasts {
            let during = begin..begin + Duration::from_millis(random.u64(1_300..4_000));
            begin = during.end + Duration::from_millis(random.u64(300..3_000));
            let fault = faults[random.usize(..faults.len())].clone();
            rules.push(always(Target::Table(IDEMPOTENCY), during, fault));
        }
        rules.extend(single_faults([0.0, 0.03][random.usize(..2)]));
        Self {
            signal_clients: random.u64(4..7),
            customer_clients: 0,
            max_signals: 8,
            pause: 900,
            lost_responses: 0.4,
            faults: FaultPlan(rules),
            ..mixed
        }
    }

    /// Large batches are deferred, and the tables take them item by item for a while: a drain makes
    /// progress, but needs many rounds, and is killed now and then between two of them.
    fn with_slow_drains(random: &mut fastrand::Rng) -> Self {
        let mixed = Self::mixed(random);
        let tables = [Target::Table(SIGNALS), Target::Tables];
        let target = tables[random.usize(..tables.len())].clone();
        let mut rules = Vec::new();
        let mut begin = Duration::ZERO;
        while begin < mixed.lasts {
            let deferring = begin..begin + Duration::from_millis(random.u64(1_500..4_000));
            let slow = deferring.end..deferring.end + Duration::from_secs(random.u64(15..40));
            begin = slow.end;
            rules.push(always(target.clone(), deferring, Fault::Throttled));
            rules.push(always(
                Target::Table(SIGNALS),
                slow,
                Fault::Scarce(200..600),
            ));
        }
        Self {
            signal_clients: random.u64(2..5),
            customer_clients: 0,
            max_signals: 60,
            pause: 8_000,
            faults: FaultPlan(rules),
            ..mixed
        }
    }

    /// Batches with many calls, whose table sometimes does not respond.
    fn with_large_batches(random: &mut fastrand::Rng) -> Self {
        let mixed = Self::mixed(random);
        let lasts = Duration::from_secs(12);
        Self {
            lasts,
            signal_clients: 2,
            customer_clients: 0,
            max_signals: 500,
            pause: 2_000,
            faults: FaultPlan(windows(random, lasts, 300..1_500, Some(SIGNALS))),
            ..mixed
        }
    }

    /// The queue and the tables fail together: writes take effect without a response, and the clients
    /// get 503s.
    fn with_failing_queue(random: &mut fastrand::Rng) -> Self {
        let mixed = Self::mixed(random);
        let mut rules = Vec::new();
        let mut begin = Duration::ZERO;
        while begin < mixed.lasts {
            let during = begin..begin + Duration::from_millis(random.u64(1_300..5_000));
            begin = during.end + Duration::from_millis(random.u64(300..2_000));
            let without_response = [
                Fault::ResponseLost,
                Fault::ResponseReplaced(CUT_RESPONSE),
                Fault::Hangs,
            ];
            let of_writes = without_response[random.usize(..without_response.len())].clone();
            let refused = [Fault::Status(503), Fault::Swallowed("{}")];
            let of_queue = refused[random.usize(..refused.len())].clone();
            for (target, fault) in [
                (Target::Sqs, of_queue),
                (Target::Table(IDEMPOTENCY), Fault::Throttled),
                (Target::Table(SIGNALS), of_writes.clone()),
                (Target::Table(CUSTOMERS), of_writes),
            ] {
                rules.push(always(target, during.clone(), fault));
            }
        }
        Self {
            signal_clients: 6,
            max_signals: 8,
            pause: 900,
            faults: FaultPlan(rules),
            ..mixed
        }
    }

    /// Customers are erased and created anew at once, and writes of parts of updates arrive late. Some
    /// environments and imports are ahead, so that their items are written part by part.
    fn with_erasures(random: &mut fastrand::Rng) -> Self {
        let mixed = Self::mixed(random);
        Self {
            lasts: Duration::from_mins(1),
            signal_clients: 0,
            customer_clients: random.u64(6..10),
            customers: 2,
            // Long enough that the customers, which move on with the updates, are still there after an
            // erasure.
            pause: 2_000,
            import_pause: Some(8_000),
            erasing_operators: 6,
            lifetimes: Lifetimes {
                have_clocks: true,
                ..mixed.lifetimes
            },
            faults: FaultPlan(vec![late_parts(0.25)]),
            ..mixed
        }
    }
}

/// Any write of a part of an update may arrive late. A whole one may not: see docs/data-model.md.
fn late_parts(share: f64) -> Rule {
    Rule {
        target: Target::Mentioning(WRITE_OF_PART),
        share,
        ..Fault::Late(16_000..19_000).always()
    }
}

/// Every call fails for some time.
fn always(target: Target, during: Range<Duration>, fault: Fault) -> Rule {
    Rule {
        target,
        during,
        ..fault.always()
    }
}

/// Times in which one thing fails for all environments, one after another, with so many milliseconds
/// between them. With a `table`, half of them are about that.
fn windows(
    random: &mut fastrand::Rng,
    lasts: Duration,
    gap: Range<u64>,
    table: Option<&'static str>,
) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut begin = Duration::ZERO;
    loop {
        begin += Duration::from_millis(random.u64(gap.clone()));
        if begin >= lasts {
            return rules;
        }
        let millis = match random.u8(..10) {
            0..4 => random.u64(50..800),
            4..8 => random.u64(800..3_000),
            _ => random.u64(3_000..12_000),
        };
        let during = begin..begin + Duration::from_millis(millis);
        begin = during.end;
        rules.extend(window(random, during, table));
    }
}

fn window(
    random: &mut fastrand::Rng,
    during: Range<Duration>,
    table: Option<&'static str>,
) -> Vec<Rule> {
    let faults = [
        Fault::Throttled,
        Fault::Refused("ThrottlingException"),
        Fault::ServerError,
        Fault::Status(503),
        Fault::Lost,
        Fault::ResponseLost,
        Fault::Hangs,
        Fault::Late(0..4_000),
        Fault::Slow(200..1_500),
        Fault::Scarce(100..700),
    ];
    let rule = |target, fault: &Fault| always(target, during.clone(), fault.clone());
    let fault = &faults[random.usize(..faults.len())];
    if let Some(table) = table.filter(|_| random.bool()) {
        return vec![rule(Target::Table(table), fault)];
    }
    let table = match random.u8(..10) {
        0 => SIGNALS,
        1 if random.u8(..4) == 0 => REJECTED_SIGNALS,
        1 => IDEMPOTENCY,
        2 | 3 => CUSTOMERS,
        4 => {
            // Without the key table and the snapshot, long enough that a look-up ends.
            let during = during.start..during.end + Duration::from_secs(7);
            let targets = [Target::Table(API_KEYS), Target::S3];
            let rules = targets.map(|target| Rule {
                during: during.clone(),
                ..rule(target, fault)
            });
            return rules.to_vec();
        }
        5 | 6 => {
            let keys = HOT_KEYS[random.usize(..HOT_KEYS.len())];
            return vec![rule(Target::Mentioning(keys), &Fault::Hot(keys))];
        }
        _ => {
            let mut rules = vec![rule(Target::Tables, fault)];
            if random.u8(..4) == 0 {
                let beside = [
                    Fault::Status(503),
                    Fault::ResponseLost,
                    Fault::Swallowed("{}"),
                    Fault::Hangs,
                    Fault::Late(0..4_000),
                    Fault::Slow(300..3_000),
                ];
                let beside = &beside[random.usize(..beside.len())];
                rules.push(rule(Target::Sqs, beside));
                rules.push(rule(Target::S3, beside));
            }
            return rules;
        }
    };
    vec![rule(Target::Table(table), fault)]
}

/// The faults of single calls, which meet this share of those to DynamoDB.
fn single_faults(share: f64) -> Vec<Rule> {
    let of_tables = [
        (0.18, Fault::Throttled),
        (0.08, Fault::Refused("ThrottlingException")),
        (0.12, Fault::ServerError),
        (0.08, Fault::Status(503)),
        (0.10, Fault::Lost),
        (0.17, Fault::ResponseLost),
        (0.04, Fault::ResponseReplaced(CUT_RESPONSE)),
        (0.04, Fault::ResponseReplaced("")),
        (0.04, Fault::Slow(20..900)),
        (0.02, Fault::Hangs),
        (0.05, Fault::Late(0..4_000)),
        (0.04, Fault::Unprocessed(0)),
        (0.04, Fault::Unprocessed(1)),
        (0.06, Fault::Unprocessed(12)),
    ];
    let mut rules = Vec::new();
    let mut add = |target, share, fault: Fault| {
        rules.push(Rule {
            target,
            share,
            ..fault.always()
        });
    };
    if share > 0.0 {
        for (part, fault) in of_tables {
            add(Target::Tables, part * share, fault);
        }
        add(Target::Sqs, 0.01, Fault::Status(503));
        add(Target::Sqs, 0.01, Fault::ResponseLost);
        add(Target::Sqs, 0.01, Fault::Swallowed("{}"));
    }
    rules
}
