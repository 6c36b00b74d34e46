//! What a run is like: drawn from its seed, so that a thousand seeds are a thousand different
//! combinations of traffic and faults. This module must not know what is correct.

use std::ops::Range;
use std::time::Duration;

use crate::aws::dynamodb::{API_KEYS, CUSTOMERS, IDEMPOTENCY, REJECTED_SIGNALS, SIGNALS};
use crate::aws::faults::{Fault, FaultPlan, Rule, Target};
use crate::lambda::Lifetimes;

/// Later than any run ends.
const FOREVER: Range<Duration> = Duration::ZERO..Duration::from_hours(24);

/// Keys of one customer or emitter, and of more than a quarter of them.
const HOT_KEYS: [&str; 3] = ["#canary-7e1d-7", "#canary-7e1d-3", "#canary-7e1d-1"];

/// What a run is like.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How long clients send.
    pub lasts: Duration,
    pub signal_clients: u64,
    pub customer_clients: u64,
    /// The most signals of a request.
    pub max_signals: usize,
    /// Customers and emitters of an account that signals are for.
    pub subjects: u32,
    /// Customers of an account that all clients update at one time.
    pub customers: u32,
    /// How long a client waits between two requests at most, in milliseconds.
    pub pause: u64,
    /// Whether imports write, and operators erase customers.
    pub has_imports: bool,
    pub has_erasures: bool,
    /// Whether keys are revoked.
    pub has_revocations: bool,
    pub lifetimes: Lifetimes,
    pub faults: FaultPlan,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn random(random: &mut fastrand::Rng) -> Self {
        match random.u8(..6) {
            0 => Self::with_revocation(random),
            1 | 2 => Self::contended(random),
            _ => Self::mixed(random),
        }
    }

    /// All kinds of requests, for many customers.
    fn mixed(random: &mut fastrand::Rng) -> Self {
        let lasts = Duration::from_secs(random.u64(15..60));
        let max_signals = [2, 8, 60][random.usize(..3)];
        let mut rules = windows(random, lasts, 1_000..12_000, None);
        rules.extend(single_faults([0.0, 0.03, 0.1, 0.25][random.usize(..4)]));
        Self {
            lasts,
            signal_clients: random.u64(2..6),
            customer_clients: random.u64(2..6),
            max_signals,
            subjects: random.u32(2..40),
            customers: random.u32(3..10),
            pause: if max_signals > 10 { 4_000 } else { 900 },
            has_imports: random.bool(),
            has_erasures: random.bool(),
            has_revocations: false,
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
        // A write of a part of an update may arrive at any time. A whole one may not: see docs/data-model.md.
        rules.push(Rule {
            target: Target::Mentioning("attribute_exists(pk) AND"),
            during: FOREVER,
            share: 0.1,
            fault: Fault::Late(16_000..19_000),
        });
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

    /// A key is revoked, and clients go on to use it for minutes, with environments that live long. In
    /// every second run, the key table fails meanwhile. S3 answers, as the promise asks for.
    fn with_revocation(random: &mut fastrand::Rng) -> Self {
        let mut mixed = Self::mixed(random);
        let rules = &mut mixed.faults.0;
        rules.retain(|rule| rule.target != Target::S3);
        if random.bool() {
            let begin = Duration::from_millis(random.u64(..40_000));
            let fault =
                [Fault::Hangs, Fault::ServerError, Fault::Throttled][random.usize(..3)].clone();
            rules.insert(
                0,
                Rule {
                    target: Target::Table(API_KEYS),
                    during: begin..FOREVER.end,
                    share: 1.0,
                    fault,
                },
            );
        }
        Self {
            lasts: Duration::from_secs(220),
            max_signals: 2,
            pause: 8_000,
            has_revocations: true,
            lifetimes: Lifetimes {
                events: 1_000..1_001,
                kills: 0.0,
                ..mixed.lifetimes
            },
            ..mixed
        }
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
        Fault::TableThrottled,
        Fault::ServerError,
        Fault::Unavailable,
        Fault::Lost,
        Fault::AnswerLost,
        Fault::Hangs,
        Fault::Late(0..4_000),
        Fault::Slow(200..1_500),
        Fault::Scarce(100..700),
    ];
    let rule = |target, fault: &Fault| Rule {
        target,
        during: during.clone(),
        share: 1.0,
        fault: fault.clone(),
    };
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
                    Fault::Unavailable,
                    Fault::AnswerLost,
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
        (0.08, Fault::TableThrottled),
        (0.12, Fault::ServerError),
        (0.08, Fault::Unavailable),
        (0.10, Fault::Lost),
        (0.17, Fault::AnswerLost),
        (0.04, Fault::AnswerCut),
        (0.04, Fault::AnswerEmpty),
        (0.04, Fault::Slow(20..900)),
        (0.02, Fault::Hangs),
        (0.05, Fault::Late(0..4_000)),
        (0.04, Fault::Unprocessed(0)),
        (0.04, Fault::Unprocessed(1)),
        (0.06, Fault::Unprocessed(12)),
    ];
    let mut rules = Vec::new();
    let mut add = |target, share, fault| {
        rules.push(Rule {
            target,
            during: FOREVER,
            share,
            fault,
        });
    };
    if share > 0.0 {
        for (part, fault) in of_tables {
            add(Target::Tables, part * share, fault);
        }
        add(Target::Sqs, 0.01, Fault::Unavailable);
        add(Target::Sqs, 0.01, Fault::AnswerLost);
    }
    rules
}
