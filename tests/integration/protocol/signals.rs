//! Requests with one requestIdentifier: two attempts of one body with two signals, and one of another body. Signals that are
//! not acknowledged go to the overflow queue, and a drain writes them later.
//!
//! Every write succeeds, or its actor does not know its outcome: then it takes effect at any later time, or never. (A write
//! that surely failed is one that never takes effect.) An actor that is killed takes no further step. A message is delivered
//! to two drains at the same time, and again when a drain failed. The record can expire.
//!
//! What cannot make a difference is left out: no actor reads signals, so it does not matter when a late write of a signal
//! takes effect, only whether it can; and of the request with the other body, only its record meets the other two.

use super::{State, explore};

/// The two attempts, by number. An attempt's number is also the time of its arrival.
const ATTEMPTS: usize = 2;

/// The number of the record of the other body.
const OTHER_BODY: usize = 2;

/// The signals of the body, as a set of bits.
const SIGNALS: u8 = 0b11;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Attempt {
    /// Is about to write the record.
    Began,
    /// Is about to write its signals under this time.
    Writes { time: usize },
    /// Is about to queue these signals.
    Defers { time: usize, signals: u8 },
    /// Was answered 200.
    Acknowledged,
    /// Was answered 503 or 422.
    Failed,
}

/// A message of the overflow queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Message {
    time: usize,
    signals: u8,
}

/// The delivery of an attempt's message: it is about to write the signals under this time, and then to delete the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Delivery {
    attempt: usize,
    time: usize,
    signals: u8,
}

/// The rules of the protocol, of which a world can lack one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    /// A record is written only where there is none.
    RecordIsConditional,
    /// An attempt or a drain that finds the record of its body writes under the time of the record.
    EqualHashHasTheTimeOfTheRecord,
    /// An attempt that does not know whether it wrote the record writes no signal itself.
    UncertainRecordDefersAll,
    /// A drain that does not know whether it wrote the record writes no signal.
    UncertainRecordStopsTheDrain,
    /// A 200 needs an acknowledgement of the queue for every signal that DynamoDB did not acknowledge.
    QueueAcknowledges,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct World {
    without: Option<Rule>,
    attempts: [Attempt; ATTEMPTS],
    /// The number of the attempt whose time the record has, or [`OTHER_BODY`].
    record: Option<usize>,
    /// Records that may still be written.
    late_records: [bool; ATTEMPTS + 1],
    /// The signals that DynamoDB acknowledged.
    stored: u8,
    /// The signals that are stored under each attempt's time, or may be one day.
    possible: [u8; ATTEMPTS],
    /// The messages of the attempts. An attempt queues at most one.
    queue: [Option<Message>; ATTEMPTS],
    drains: [Option<Delivery>; 2],
    has_expired: bool,
    other_body_had_the_record: bool,
    /// The attempts that were deferred because they did not know whether they wrote the record.
    had_no_record: [bool; ATTEMPTS],
}

impl World {
    fn new(without: Option<Rule>) -> Self {
        Self {
            without,
            attempts: [Attempt::Began; ATTEMPTS],
            record: None,
            // The request with the other body writes its record at any time, or never.
            late_records: [false, false, true],
            stored: 0,
            possible: [0; ATTEMPTS],
            queue: [None; ATTEMPTS],
            drains: [None; 2],
            has_expired: false,
            other_body_had_the_record: false,
            had_no_record: [false; ATTEMPTS],
        }
    }

    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// A write of a record takes effect, unless the condition prevents it.
    fn with_record(mut self, number: usize) -> Self {
        if self.record.is_none() || !self.has(Rule::RecordIsConditional) {
            self.record = Some(number);
            self.other_body_had_the_record |= number == OTHER_BODY;
        }
        self
    }

    /// Writes a record. Returns the world in which the outcome is known, with the record that exists then, and the one in
    /// which it is not.
    fn put_record(self, number: usize) -> ((Self, usize), Self) {
        let written = self.with_record(number);
        let mut uncertain = self;
        uncertain.late_records[number] = true;
        ((written, written.record.unwrap_or(number)), uncertain)
    }

    /// The time under which an attempt or a drain writes when this record exists; `None` if it is the other body's.
    fn time(&self, own: usize, record: usize) -> Option<usize> {
        let time = if self.has(Rule::EqualHashHasTheTimeOfTheRecord) { record } else { own };
        (record != OTHER_BODY).then_some(time)
    }

    /// Writes signals, of which DynamoDB acknowledges some.
    fn put_signals(mut self, time: usize, signals: u8, acknowledged: u8) -> Self {
        self.stored |= acknowledged;
        self.possible[time] |= signals;
        self
    }

    fn with_attempt(mut self, number: usize, attempt: Attempt) -> Self {
        self.attempts[number] = attempt;
        self
    }

    fn with_drain(mut self, slot: usize, delivery: Option<Delivery>) -> Self {
        self.drains[slot] = delivery;
        // Which of the two is which makes no difference.
        self.drains.sort_unstable();
        self
    }

    fn step_attempt(self, number: usize, next: &mut Vec<Self>) {
        match self.attempts[number] {
            Attempt::Began => {
                let ((known, record), mut uncertain) = self.put_record(number);
                let time = self.time(number, record);
                next.push(known.with_attempt(number, time.map_or(Attempt::Failed, |time| Attempt::Writes { time })));
                let attempt = if self.has(Rule::UncertainRecordDefersAll) {
                    uncertain.had_no_record[number] = true;
                    Attempt::Defers { time: number, signals: SIGNALS }
                } else {
                    Attempt::Writes { time: number }
                };
                next.push(uncertain.with_attempt(number, attempt));
            }
            Attempt::Writes { time } => {
                for acknowledged in 0..=SIGNALS {
                    let signals = SIGNALS & !acknowledged;
                    let attempt = if signals == 0 { Attempt::Acknowledged } else { Attempt::Defers { time, signals } };
                    next.push(self.put_signals(time, SIGNALS, acknowledged).with_attempt(number, attempt));
                }
            }
            Attempt::Defers { time, signals } => {
                let mut queued = self;
                queued.queue[number] = Some(Message { time, signals });
                next.push(queued.with_attempt(number, Attempt::Acknowledged));
                // The attempt does not learn it. A message that comes late is one that is delivered late.
                next.push(queued.with_attempt(number, Attempt::Failed));
                let lost = if self.has(Rule::QueueAcknowledges) { Attempt::Failed } else { Attempt::Acknowledged };
                next.push(self.with_attempt(number, lost));
            }
            Attempt::Acknowledged | Attempt::Failed => {}
        }
    }

    fn step_drain(self, slot: usize, next: &mut Vec<Self>) {
        if let Some(Delivery { attempt, time, signals }) = self.drains[slot] {
            let mut deleted = self.put_signals(time, signals, signals).with_drain(slot, None);
            deleted.queue[attempt] = None;
            next.push(deleted);
            next.push(self.put_signals(time, signals, 0).with_drain(slot, None));
            return;
        }
        for (attempt, message) in self.queue.into_iter().enumerate() {
            let Some(Message { time, signals }) = message else { continue };
            let ((known, record), uncertain) = self.put_record(time);
            // With another body's record, the signals are written all the same: they were acknowledged.
            let found = self.time(time, record).unwrap_or(time);
            next.push(known.with_drain(slot, Some(Delivery { attempt, time: found, signals })));
            let goes_on =
                (!self.has(Rule::UncertainRecordStopsTheDrain)).then_some(Delivery { attempt, time, signals });
            next.push(uncertain.with_drain(slot, goes_on));
        }
    }

    fn step_late_records(self, next: &mut Vec<Self>) {
        for (number, is_late) in self.late_records.into_iter().enumerate() {
            if is_late {
                let mut written = self.with_record(number);
                written.late_records[number] = false;
                next.push(written);
            }
        }
    }

    /// The two cases in which docs/reliability.md does not promise that a signal is stored once.
    fn may_store_twice(&self) -> bool {
        self.has_expired || self.other_body_had_the_record && self.had_no_record == [true; ATTEMPTS]
    }
}

impl State for World {
    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for number in 0..ATTEMPTS {
            self.step_attempt(number, &mut next);
        }
        for slot in 0..self.drains.len() {
            self.step_drain(slot, &mut next);
        }
        self.step_late_records(&mut next);
        if self.record.is_some() && !self.has_expired {
            next.push(Self { record: None, has_expired: true, ..*self });
        }
        next
    }

    fn violation(&self) -> Option<&'static str> {
        let [first, second] = self.possible;
        if first & second != 0 && !self.may_store_twice() {
            return Some("a signal is stored twice");
        }
        let queued = self.queue.into_iter().flatten().fold(0, |queued, message| queued | message.signals);
        let is_lost = self.attempts.contains(&Attempt::Acknowledged) && self.stored | queued != SIGNALS;
        is_lost.then_some("an acknowledged signal is lost")
    }
}

#[test]
fn every_acknowledged_signal_is_stored_once_whatever_fails() {
    let states = explore(World::new(None));
    assert!(states.is_ok_and(|states| states > 10_000), "{states:?}");
}

#[test]
fn protocol_without_one_of_its_rules_stores_a_signal_twice_or_loses_it() {
    for (rule, harm) in [
        (Rule::RecordIsConditional, "a signal is stored twice"),
        (Rule::EqualHashHasTheTimeOfTheRecord, "a signal is stored twice"),
        (Rule::UncertainRecordDefersAll, "a signal is stored twice"),
        (Rule::UncertainRecordStopsTheDrain, "a signal is stored twice"),
        (Rule::QueueAcknowledges, "an acknowledged signal is lost"),
    ] {
        assert_eq!(explore(World::new(Some(rule))), Err(harm), "{rule:?}");
    }
}
