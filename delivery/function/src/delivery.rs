//! The steps of one batch. Must not know what a signal or a customer is.

use std::borrow::Cow;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use model::digest::Digest;
use model::timestamp::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use service::runtime;
use store::deadline::Deadline;

use crate::bus::{Bus, Entry};
use crate::clients::{Cause, Undelivered};
use crate::cloud_event::{CloudEvent, IN_THE_LAKE};
use crate::event::RecordName;
use crate::lake::Lake;
use crate::log::{Counts, Failure};
use crate::record::{event_of, timestamp};
use crate::targets::Targets;

/// The longest `eventID` or sequence number that becomes a part of a key. Those of DynamoDB have 32 characters and at most 40.
const MAX_NAME_CHARS: usize = 128;

/// Records that are written to the failure bucket at once.
const KEPT_AT_ONCE: usize = 16;

/// The name of the failure bucket in the log.
const FAILURE_BUCKET: &str = "failure bucket";

/// The reason that is stored with an event that no target takes whole.
const TOO_LARGE: &str = "the event is too large for the lake, or there is no lake and the bus cannot have it whole";

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
    /// Events of which the bus has only a reference.
    references: usize,
    /// The position of the first record that failed, and why.
    failed: Option<(usize, Failure)>,
}

/// An event with its record.
struct PendingEvent<'a> {
    position: usize,
    record: &'a RawValue,
    event: CloudEvent,
    /// Where it is whole, unless that is the bus.
    dataref: Option<String>,
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
            references: 0,
            failed: None,
        }
    }

    /// Reads the records, and keeps those that cannot be delivered whole. That takes at most a third of the time: in
    /// the rest the events before the first record that is not kept are delivered, and Lambda goes on behind them.
    pub(crate) async fn read(&mut self, records: &[&'a RawValue]) {
        let mut unkept = Vec::new();
        for (position, record) in records.iter().copied().enumerate() {
            unkept.extend(self.read_one(position, record).map(|reason| (position, record, reason)));
        }
        let deadline = self.deadline.at_most(self.deadline.remaining() / 3);
        let delivery = &*self;
        // A vector, because the compiler cannot prove that a stream of closures' futures is `Send`.
        let puts: Vec<_> = unkept
            .into_iter()
            .map(|(position, record, reason)| async move {
                delivery.keep(record, &reason, deadline).await.map_err(|cause| (position, cause))
            })
            .collect();
        let kept: Result<Vec<_>, _> = stream::iter(puts).buffered(KEPT_AT_ONCE).try_collect().await;
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
            let dataref = if is_in_lake { Some(IN_THE_LAKE.to_owned()) } else { is_kept.then(|| self.url_of(record)) };
            self.events.push(PendingEvent { position, record, event, dataref });
        }
        is_kept.then(|| TOO_LARGE.to_owned())
    }

    /// Sends the events to the lake, if there is one.
    pub(crate) async fn fill_lake(&mut self) {
        let Some(lake) = &self.targets.lake else { return };
        let is_for_lake = |pending: &&PendingEvent<'_>| pending.dataref.as_deref() == Some(IN_THE_LAKE);
        let events = self.events.iter().filter(is_for_lake);
        let events = events.map(|pending| (pending.position, pending.event.json.as_str()));
        // The rest of the time is the bus's.
        let deadline = if self.targets.bus.is_some() {
            self.deadline.at_most(self.deadline.remaining() / 2)
        } else {
            self.deadline
        };
        if let Err(Undelivered { position, cause }) = lake.put(events, deadline).await {
            self.fail(position, "lake", &cause);
        }
    }

    /// Sends the events to the bus, if there is one. One that EventBridge will never take would hold up the shard: its record is
    /// kept, and a reference to it is sent instead.
    pub(crate) async fn notify_bus(&mut self) {
        let Some(bus) = &self.targets.bus else { return };
        let mut entries: Vec<_> = self.events.iter().map(PendingEvent::entry).collect();
        // The positions of records of which EventBridge does not even take the reference.
        let (mut first, mut refused, mut failed) = (0, Vec::new(), None);
        while let Some(rest) = entries.get(first..)
            && let Err(Undelivered { position, cause }) = bus.put(rest, self.deadline).await
        {
            first += position;
            let (Some(pending), Some(entry)) = (self.events.get(first), entries.get_mut(first)) else {
                // A defect of `Bus`: it is unknown which event it did not send.
                (first, failed) = (0, Some((0, "bus", cause)));
                break;
            };
            if !matches!(cause, Cause::MalformedDetail | Cause::InvalidCall(_)) {
                failed = Some((pending.position, "bus", cause));
                break;
            }
            let reason = format!("EventBridge does not take the event: {cause}");
            if let Err(cause) = self.keep(pending.record, &reason, self.deadline).await {
                failed = Some((pending.position, FAILURE_BUCKET, cause));
                break;
            }
            if entry.is_reference() {
                refused.push(pending.position);
                first += 1;
            } else {
                entry.detail = Cow::Owned(pending.event.reference(&self.url_of(pending.record)));
            }
        }
        let sent = if failed.is_some() { first } else { entries.len() };
        self.references =
            entries.iter().take(sent).filter(|entry| entry.is_reference()).count().saturating_sub(refused.len());
        self.events.retain(|pending| !refused.contains(&pending.position));
        self.unreadable.append(&mut refused);
        if let Some((position, target, cause)) = failed {
            self.fail(position, target, &cause);
        }
    }

    /// The position of the first failed record, if there is one, and what the log says.
    pub(crate) fn finish(self, records: usize) -> (Option<usize>, Counts) {
        let end = self.failed.as_ref().map_or(records, |(position, _)| *position);
        let before_end = |positions: &[usize]| positions.iter().filter(|position| **position < end).count();
        let counts = Counts {
            records,
            delivered: self.events.len(),
            skipped: before_end(&self.skipped),
            unreadable: before_end(&self.unreadable),
            undelivered: records - end,
            references: self.references,
            failure: self.failed.map(|(_, failure)| failure),
        };
        (counts.failure.is_some().then_some(end), counts)
    }

    /// Ends the batch before the failed record.
    fn fail(&mut self, position: usize, target: &'static str, cause: &Cause) {
        if let Cause::Call(cause) = cause {
            runtime::end_if_refused(cause);
        }
        self.events.retain(|pending| pending.position < position);
        self.failed = Some((position, Failure { target, cause: cause.to_string() }));
    }

    /// Writes a record to the failure bucket. The key is the same when the record is delivered again.
    async fn keep(&self, record: &RawValue, reason: &str, deadline: Deadline) -> Result<(), Cause> {
        let body = serde_json::to_string(&KeptRecord { reason, record }).map_err(|_| Cause::RequestError)?;
        self.targets.failures.put(&self.failure_key(record), body, deadline).await
    }

    /// Where a record is that is kept.
    fn url_of(&self, record: &RawValue) -> String {
        self.targets.failures.s3_url(&self.failure_key(record))
    }

    /// `unreadable/2026/11/20/<eventID>.json`, with the day of the change. A record without an eventID has its sequence number
    /// or its digest there, and one without a time has the day of the invocation.
    fn failure_key(&self, record: &RawValue) -> String {
        let RecordName { event_id, sequence_number, created_at } = RecordName::of(record);
        let is_name = |name: &String| {
            (1..=MAX_NAME_CHARS).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let name = [event_id, sequence_number].into_iter().flatten().find(is_name);
        let name = name.unwrap_or_else(|| Digest::of(record.get()).to_hex());
        let time = created_at.map_or(self.now, timestamp).to_string();
        let day = time.chars().take("2026-11-20".len()).collect::<String>().replace('-', "/");
        format!("unreadable/{day}/{name}.json")
    }
}

fn is_whole_on_bus(event: &CloudEvent) -> bool {
    !event.has_large_number && Bus::fits(event.kind.detail_type(), &event.json)
}

impl PendingEvent<'_> {
    fn entry(&self) -> Entry<'_> {
        let detail = match &self.dataref {
            Some(dataref) if !is_whole_on_bus(&self.event) => Cow::Owned(self.event.reference(dataref)),
            _ => Cow::Borrowed(self.event.json.as_str()),
        };
        Entry { detail_type: self.event.kind.detail_type(), time: self.event.time, detail }
    }
}
