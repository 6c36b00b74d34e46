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

/// Records that are written to the failure bucket at once.
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
    /// The position of the first record that failed, and why.
    failed: Option<(usize, Failure)>,
    are_credentials_refused: bool,
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
        let mut unkept = Vec::new();
        for (position, record) in records.iter().copied().enumerate() {
            unkept.extend(
                self.read_one(position, record)
                    .map(|reason| (position, record, reason)),
            );
        }
        let deadline = self.deadline.at_most(self.deadline.remaining() / 3);
        let delivery = &*self;
        // A vector, because the compiler cannot prove that a stream of closures' futures is `Send`.
        let puts: Vec<_> = unkept
            .into_iter()
            .map(|(position, record, reason)| async move {
                delivery
                    .keep(record, &reason, deadline)
                    .await
                    .map_err(|cause| (position, cause))
            })
            .collect();
        let kept: Result<Vec<_>, _> = stream::iter(puts)
            .buffered(KEPT_AT_ONCE)
            .try_collect()
            .await;
        if let Err((position, cause)) = kept {
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
        let is_in_lake = self.targets.has_lake && Lake::fits(&event.json);
        let is_kept = !is_in_lake && (self.targets.bus.is_none() || !is_whole_on_bus(&event));
        if is_kept && self.targets.bus.is_none() {
            // Nowhere but in the failure bucket.
            self.unreadable.push(position);
        } else {
            let dataref = if is_in_lake {
                Some(IN_THE_LAKE.to_owned())
            } else {
                is_kept.then(|| self.url_of(record))
            };
            self.events.push(PendingEvent {
                position,
                record,
                event,
                dataref,
                state: State::Whole,
            });
        }
        is_kept.then(|| TOO_LARGE.to_owned())
    }

    /// Sends the events to the lake, if there is one. One that Firehose will never take is kept.
    pub(crate) async fn fill_lake(&mut self) {
        let Some(lake) = &self.targets.lake else {
            return;
        };
        // The rest of the time is the bus's.
        let share = if self.targets.bus.is_some() { 2 } else { 1 };
        let deadline = self.deadline.at_most(self.deadline.remaining() / share);
        let is_for_lake = |(_, pending): &(usize, &PendingEvent<'_>)| {
            pending.dataref.as_deref() == Some(IN_THE_LAKE)
        };
        let events = self.events.iter().enumerate().filter(is_for_lake);
        let (indexes, lines): (Vec<_>, Vec<_>) = events
            .map(|(index, pending)| (index, pending.event.json.as_str()))
            .unzip();
        let calls = lake.put(&lines, deadline).await;
        let index_of = |position: usize| indexes.get(position).copied().unwrap_or_default();
        let (takes_none, refused, failed) = (calls.takes_none(), calls.refused, calls.failed);
        for Undelivered { position, cause } in refused {
            if takes_none {
                return self.fail_event(index_of(position), LAKE, &cause);
            }
            if let Err(cause) = self
                .keep_event(index_of(position), "Firehose", &cause)
                .await
            {
                return self.fail_event(index_of(position), FAILURE_BUCKET, &cause);
            }
        }
        if let Some(Undelivered { position, cause }) = failed {
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
        let calls = bus.put(&entries, self.deadline).await;
        let (mut takes_none, refused, failed) = (calls.takes_none(), calls.refused, calls.failed);
        for Undelivered { position, cause } in refused {
            let was_reference = self
                .events
                .get(position)
                .is_some_and(PendingEvent::is_reference);
            if let Err(cause) = self.keep_event(position, "EventBridge", &cause).await {
                return self.fail_event(position, FAILURE_BUCKET, &cause);
            }
            let reference = self
                .events
                .get(position)
                .filter(|_| !was_reference)
                .map(PendingEvent::entry);
            let calls = bus.put(reference.as_slice(), self.deadline).await;
            let is_taken = reference.is_some() && calls.refused.is_empty();
            if let Some(Undelivered { cause, .. }) = calls.failed {
                return self.fail_event(position, BUS, &cause);
            }
            takes_none &= !is_taken;
            if takes_none {
                return self.fail_event(position, BUS, &cause);
            }
            if let Some(pending) = self.events.get_mut(position).filter(|_| !is_taken) {
                pending.state = State::Kept;
            }
        }
        if let Some(Undelivered { position, cause }) = failed {
            self.fail_event(position, BUS, &cause);
        }
    }

    /// The position of the first failed record, if there is one, and what the log says.
    pub(crate) fn finish(self, records: usize) -> (Option<usize>, Counts) {
        let end = self
            .failed
            .as_ref()
            .map_or(records, |(position, _)| *position);
        let before_end =
            |positions: &[usize]| positions.iter().filter(|position| **position < end).count();
        let delivered = self
            .events
            .iter()
            .filter(|pending| pending.state != State::Kept);
        let counts = Counts {
            records,
            delivered: delivered.clone().count(),
            skipped: before_end(&self.skipped),
            unreadable: before_end(&self.unreadable) + self.events.len()
                - delivered.clone().count(),
            undelivered: records - end,
            references: delivered
                .filter(|pending| self.targets.bus.is_some() && pending.is_reference())
                .count(),
            failure: self.failed.map(|(_, failure)| failure),
        };
        (counts.failure.is_some().then_some(end), counts)
    }

    /// Ends the batch before the failed record.
    fn fail(&mut self, position: usize, target: &'static str, cause: &TargetError) {
        self.are_credentials_refused |=
            matches!(cause, TargetError::Call(Cause::InvalidCredentials));
        self.events.retain(|pending| pending.position < position);
        self.failed = Some((
            position,
            Failure {
                target,
                cause: cause.to_string(),
            },
        ));
    }

    /// Ends the batch before the record of an event; at its beginning if a defect names no event,
    /// so that nothing is passed over.
    fn fail_event(&mut self, index: usize, target: &'static str, cause: &TargetError) {
        self.fail(
            self.events.get(index).map_or(0, |pending| pending.position),
            target,
            cause,
        );
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
        self.keep(
            pending.record,
            &format!("{target} does not take the event: {cause}"),
            self.deadline,
        )
        .await?;
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
        let (key, deadline) = (self.failure_key(record), deadline.at_most(ATTEMPT_TIMEOUT));
        let put = self.targets.failures.put(
            &key,
            body.into_bytes(),
            "application/json",
            Replaces::Anything,
            deadline,
        );
        put.await.map_err(|error| match error {
            S3Error::Unavailable(cause) => cause.into(),
            error => TargetError::Bucket(error),
        })
    }

    /// Where a record is that is kept.
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
        } = RecordName::of(record);
        let is_name = |name: &String| {
            (1..=MAX_NAME_CHARS).contains(&name.len())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let name = [event_id, sequence_number]
            .into_iter()
            .flatten()
            .find(is_name);
        let name = name.unwrap_or_else(|| Digest::of(record.get()).to_hex());
        let time = created_at.map_or(self.now, timestamp).to_string();
        let day = time
            .chars()
            .take("2026-11-20".len())
            .collect::<String>()
            .replace('-', "/");
        format!("unreadable/{day}/{name}.json")
    }
}

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
