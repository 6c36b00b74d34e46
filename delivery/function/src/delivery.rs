//! The steps of one batch. Must not know what a signal or a customer is.

use std::borrow::Cow;

use aws::cause::Cause;
use aws::deadline::Deadline;
use aws::s3::{Replaces, S3Error};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use model::digest::Digest;
use model::timestamp::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::bus::{Bus, Entry};
use crate::clients::{ATTEMPT_TIMEOUT, TargetError, Undelivered};
use crate::cloud_event::{CloudEvent, IN_THE_LAKE};
use crate::event::RecordName;
use crate::lake::Lake;
use crate::log::{Counts, Failure};
use crate::record::{event_of, timestamp};
use crate::targets::Targets;

/// The longest `eventID` or sequence number that becomes a part of a key. Those of DynamoDB have 32
/// characters and at most 40.
const MAX_NAME_CHARS: usize = 128;

/// How many records are written to the failure bucket at the same time.
const KEPT_AT_ONCE: usize = 16;

/// The names of the targets and of the failure bucket in the log.
const BUS: &str = "bus";
const LAKE: &str = "lake";
const FAILURE_BUCKET: &str = "failure bucket";

/// The reason that is stored with an event that no target takes whole.
const TOO_LARGE: &str =
    "the event is too large for the lake, or there is no lake and the bus cannot have it whole";

/// A batch on its way.
pub(crate) struct Delivery<'a> {
    targets: &'a Targets,
    deadline: Deadline,
    now: Timestamp,
    /// The events of all records before the first failed one.
    events: Vec<PendingEvent<'a>>,
    /// The positions of records without an event.
    skipped: Vec<usize>,
    /// The positions of records that are only in the failure bucket.
    unreadable: Vec<usize>,
    /// The first record that failed.
    failed: Option<FailedRecord>,
    are_credentials_refused: bool,
}

/// A record that is to be delivered again, by its position in the batch.
struct FailedRecord {
    position: usize,
    failure: Failure,
}

/// A record of which no target can have the event, or the whole event.
struct RecordToKeep<'a> {
    position: usize,
    record: &'a RawValue,
    reason: String,
}

/// An event with its record.
struct PendingEvent<'a> {
    position: usize,
    record: &'a RawValue,
    event: CloudEvent,
    /// Where it is whole, unless that is the bus.
    dataref: Option<String>,
    state: State,
}

/// What became of an event so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No target refused it.
    Whole,
    /// A target refused it, and the failure bucket has it. The bus gets a reference.
    Refused,
    /// It is only in the failure bucket.
    Kept,
}

/// An object of the failure bucket.
#[derive(Serialize)]
struct KeptRecord<'a> {
    reason: &'a str,
    record: &'a RawValue,
}

impl<'a> Delivery<'a> {
    pub(crate) fn new(targets: &'a Targets, deadline: Deadline, now: Timestamp) -> Self {
        Self {
            targets,
            deadline,
            now,
            events: Vec::new(),
            skipped: Vec::new(),
            unreadable: Vec::new(),
            failed: None,
            are_credentials_refused: false,
        }
    }

    /// Whether AWS refused the credentials of the function.
    pub(crate) fn are_credentials_refused(&self) -> bool {
        self.are_credentials_refused
    }

    /// Reads the records, and keeps those that cannot be delivered whole. That takes at most a
    /// third of the time: in the rest the events before the first record that is not kept are
    /// delivered, and Lambda goes on behind them.
    pub(crate) async fn read(&mut self, records: &[&'a RawValue]) {
        let mut to_keep = Vec::new();
        for (position, record) in records.iter().copied().enumerate() {
            if let Some(reason) = self.read_one(position, record) {
                to_keep.push(RecordToKeep {
                    position,
                    record,
                    reason,
                });
            }
        }
        let deadline = self.deadline.at_most(self.deadline.remaining() / 3);
        let delivery = &*self;
        // A vector, because the compiler cannot prove that a stream of closures' futures is `Send`.
        let puts: Vec<_> = to_keep
            .into_iter()
            .map(|to_keep| async move {
                let RecordToKeep {
                    position,
                    record,
                    reason,
                } = to_keep;
                let kept = delivery.keep(record, &reason, deadline).await;
                kept.map_err(|cause| Undelivered { position, cause })
            })
            .collect();
        let kept: Result<Vec<()>, Undelivered> = stream::iter(puts)
            .buffered(KEPT_AT_ONCE)
            .try_collect()
            .await;
        if let Err(Undelivered { position, cause }) = kept {
            self.fail(position, FAILURE_BUCKET, &cause);
        }
    }

    /// Reads a record. Returns the reason if it is to be kept.
    fn read_one(&mut self, position: usize, record: &'a RawValue) -> Option<String> {
        let event = match event_of(record) {
            Ok(Some(event)) => event,
            Ok(None) => {
                self.skipped.push(position);
                return None;
            }
            Err(reason) => {
                self.unreadable.push(position);
                return Some(reason.to_string());
            }
        };
        let has_bus = self.targets.bus.is_some();
        let is_in_lake = self.targets.has_lake && Lake::fits(&event.json);
        let is_on_bus = has_bus && is_whole_on_bus(&event);
        let is_kept = !is_in_lake && !is_on_bus;
        if is_kept && !has_bus {
            // It is nowhere but in the failure bucket.
            self.unreadable.push(position);
            return Some(TOO_LARGE.to_owned());
        }
        let dataref = if is_in_lake {
            Some(IN_THE_LAKE.to_owned())
        } else if is_kept {
            Some(self.url_of(record))
        } else {
            None
        };
        self.events.push(PendingEvent {
            position,
            record,
            event,
            dataref,
            state: State::Whole,
        });
        is_kept.then(|| TOO_LARGE.to_owned())
    }

    /// Sends the events to the lake, if there is one. One that Firehose will never take is kept.
    pub(crate) async fn fill_lake(&mut self) {
        let Some(lake) = &self.targets.lake else {
            return;
        };
        // The other half of the time is the bus's.
        let share = if self.targets.bus.is_some() { 2 } else { 1 };
        let deadline = self.deadline.at_most(self.deadline.remaining() / share);
        let mut indexes = Vec::new();
        let mut lines = Vec::new();
        for (index, pending) in self.events.iter().enumerate() {
            if pending.dataref.as_deref() == Some(IN_THE_LAKE) {
                indexes.push(index);
                lines.push(pending.event.json.as_str());
            }
        }
        let sent = lake.put(&lines, deadline).await;
        let index_of = |position: usize| indexes.get(position).copied().unwrap_or_default();
        for Undelivered { position, cause } in sent.refused {
            let index = index_of(position);
            if sent.took_none_of_several {
                self.fail_event(index, LAKE, &cause);
                return;
            }
            let kept = self.keep_event(index, "Firehose", &cause).await;
            if let Err(cause) = kept {
                self.fail_event(index, FAILURE_BUCKET, &cause);
                return;
            }
        }
        if let Some(Undelivered { position, cause }) = sent.failed {
            self.fail_event(index_of(position), LAKE, &cause);
        }
    }

    /// Sends the events to the bus, if there is one. One that EventBridge will never take would
    /// hold up the shard: it is kept, and a reference to it is sent after the other events. But if
    /// EventBridge took no event of several, and no reference, the shard waits: more likely than
    /// each event, the bus is at fault.
    pub(crate) async fn notify_bus(&mut self) {
        let Some(bus) = &self.targets.bus else { return };
        let entries: Vec<_> = self.events.iter().map(PendingEvent::entry).collect();
        let sent = bus.put(&entries, self.deadline).await;
        let mut takes_nothing = sent.took_none_of_several;
        for Undelivered { position, cause } in sent.refused {
            let event = self.events.get(position);
            let was_reference = event.is_some_and(PendingEvent::is_reference);
            let kept = self.keep_event(position, "EventBridge", &cause).await;
            if let Err(cause) = kept {
                self.fail_event(position, FAILURE_BUCKET, &cause);
                return;
            }
            if !was_reference {
                match self.send_reference(bus, position).await {
                    Ok(true) => {
                        takes_nothing = false;
                        continue;
                    }
                    Ok(false) => {}
                    Err(cause) => {
                        self.fail_event(position, BUS, &cause);
                        return;
                    }
                }
            }
            if takes_nothing {
                self.fail_event(position, BUS, &cause);
                return;
            }
            if let Some(pending) = self.events.get_mut(position) {
                pending.state = State::Kept;
            }
        }
        if let Some(Undelivered { position, cause }) = sent.failed {
            self.fail_event(position, BUS, &cause);
        }
    }

    /// Sends the bus a reference to an event that is kept. Returns whether the bus took it.
    async fn send_reference(&self, bus: &Bus, index: usize) -> Result<bool, TargetError> {
        let Some(pending) = self.events.get(index) else {
            return Ok(false);
        };
        let sent = bus.put(&[pending.entry()], self.deadline).await;
        match sent.failed {
            Some(Undelivered { cause, .. }) => Err(cause),
            None => Ok(sent.refused.is_empty()),
        }
    }

    /// The position of the first failed record, if there is one, and what the log says.
    pub(crate) fn finish(self, records: usize) -> (Option<usize>, Counts) {
        let failed = self.failed.as_ref().map(|failed| failed.position);
        let end = failed.unwrap_or(records);
        let count_before_end =
            |positions: &[usize]| positions.iter().filter(|position| **position < end).count();
        let has_bus = self.targets.bus.is_some();
        let mut delivered = 0;
        let mut references = 0;
        let mut only_kept = 0;
        for pending in &self.events {
            if pending.state == State::Kept {
                only_kept += 1;
                continue;
            }
            delivered += 1;
            if has_bus && pending.is_reference() {
                references += 1;
            }
        }
        let counts = Counts {
            records,
            delivered,
            skipped: count_before_end(&self.skipped),
            unreadable: count_before_end(&self.unreadable) + only_kept,
            undelivered: records - end,
            references,
            failure: self.failed.map(|failed| failed.failure),
        };
        (failed, counts)
    }

    /// Ends the batch before the failed record.
    fn fail(&mut self, position: usize, target: &'static str, cause: &TargetError) {
        if matches!(cause, TargetError::Call(Cause::InvalidCredentials)) {
            self.are_credentials_refused = true;
        }
        self.events.retain(|pending| pending.position < position);
        let failure = Failure {
            target,
            cause: cause.to_string(),
        };
        self.failed = Some(FailedRecord { position, failure });
    }

    /// Ends the batch before the record of an event; at its beginning if a defect names no event,
    /// so that nothing is passed over.
    fn fail_event(&mut self, index: usize, target: &'static str, cause: &TargetError) {
        let event = self.events.get(index);
        let position = event.map_or(0, |pending| pending.position);
        self.fail(position, target, cause);
    }

    /// Writes the record of an event that a target will never take to the failure bucket.
    async fn keep_event(
        &mut self,
        index: usize,
        target: &str,
        cause: &TargetError,
    ) -> Result<(), TargetError> {
        let Some(pending) = self.events.get(index) else {
            return Ok(());
        };
        let reason = format!("{target} does not take the event: {cause}");
        self.keep(pending.record, &reason, self.deadline).await?;
        let url = self.url_of(pending.record);
        if let Some(pending) = self.events.get_mut(index) {
            pending.dataref = Some(url);
            pending.state = if self.targets.bus.is_some() {
                State::Refused
            } else {
                State::Kept
            };
        }
        Ok(())
    }

    /// Writes a record to the failure bucket. The key is the same when the record is delivered
    /// again, which is the only retry.
    async fn keep(
        &self,
        record: &RawValue,
        reason: &str,
        deadline: Deadline,
    ) -> Result<(), TargetError> {
        let body = serde_json::to_string(&KeptRecord { reason, record })
            .map_err(|_| TargetError::RequestError)?;
        let key = self.failure_key(record);
        let put = self.targets.failures.put(
            &key,
            body.into_bytes(),
            "application/json",
            Replaces::Anything,
            deadline.at_most(ATTEMPT_TIMEOUT),
        );
        match put.await {
            Ok(()) => Ok(()),
            Err(S3Error::Unavailable(cause)) => Err(cause.into()),
            Err(error) => Err(TargetError::Bucket(error)),
        }
    }

    /// The URL of a record that is kept.
    fn url_of(&self, record: &RawValue) -> String {
        format!(
            "s3://{}/{}",
            self.targets.failures.name(),
            self.failure_key(record)
        )
    }

    /// `unreadable/2026/11/20/<eventID>.json`, with the day of the change. A record without an
    /// eventID has its sequence number or its digest there, and one without a time has the day of
    /// the invocation.
    fn failure_key(&self, record: &RawValue) -> String {
        let RecordName {
            event_id,
            sequence_number,
            created_at,
        } = RecordName::read(record);
        let name = [event_id, sequence_number]
            .into_iter()
            .flatten()
            .find(|name| is_part_of_a_key(name))
            .unwrap_or_else(|| Digest::of(record.get()).to_hex());
        let time = created_at.map_or(self.now, timestamp).to_string();
        let day: String = time.chars().take("2026-11-20".len()).collect();
        let day = day.replace('-', "/");
        format!("unreadable/{day}/{name}.json")
    }
}

/// Whether the name of a record can be a part of a key.
fn is_part_of_a_key(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Whether the bus can have the event itself, and needs no reference to it.
fn is_whole_on_bus(event: &CloudEvent) -> bool {
    !event.has_large_number && Bus::fits(event.kind.detail_type(), &event.json)
}

impl PendingEvent<'_> {
    fn entry(&self) -> Entry<'_> {
        let detail = match &self.dataref {
            Some(dataref) if self.is_reference() => Cow::Owned(self.event.reference(dataref)),
            _ => Cow::Borrowed(self.event.json.as_str()),
        };
        Entry {
            detail_type: self.event.kind.detail_type(),
            time: self.event.time,
            detail,
        }
    }

    /// Whether the bus gets a reference to the event.
    fn is_reference(&self) -> bool {
        self.state != State::Whole || !is_whole_on_bus(&self.event)
    }
}
