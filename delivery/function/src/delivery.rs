//! The steps of one batch. Must not know what a signal or a customer is.

use std::borrow::Cow;

use model::deadline::Deadline;
use model::digest::Digest;
use model::timestamp::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use service::telemetry::delivery_log::{Counts, Failure};

use crate::bus::{Bus, Entry};
use crate::clients::{Cause, Undelivered};
use crate::cloud_event::{CloudEvent, IN_THE_LAKE};
use crate::event::RecordName;
use crate::lake::Lake;
use crate::record::{event_of, timestamp};
use crate::targets::Targets;

/// The longest `eventID` or sequence number that becomes a part of a key. Those of DynamoDB have 32 characters and at most 40.
const MAX_NAME_CHARS: usize = 128;

/// The name of the failure bucket in the log.
const FAILURE_BUCKET: &str = "failure bucket";

/// Why an event is kept that no target takes whole.
const TOO_LARGE: &str = "the event is too large for the lake, or there is no lake and the bus cannot have it whole";

/// Why an event is kept that the bus did not take.
const MALFORMED: &str = "EventBridge found the event malformed";

/// A batch on its way.
pub(crate) struct Delivery<'a> {
    targets: &'a Targets,
    deadline: Deadline,
    now: Timestamp,
    /// The events of all records before the first failed one.
    events: Vec<PendingEvent<'a>>,
    /// The positions of records that are no event.
    skipped: Vec<usize>,
    /// The positions of records that are only in the failure bucket.
    unreadable: Vec<usize>,
    /// Events of which the bus has only a pointer.
    pointers: usize,
    failed: Option<FailedRecord>,
}

/// An event with its record.
struct PendingEvent<'a> {
    position: usize,
    record: &'a RawValue,
    event: CloudEvent,
    /// Where it is whole, unless that is the bus.
    dataref: Option<String>,
}

/// The first record that failed.
struct FailedRecord {
    position: usize,
    failure: Failure,
}

impl FailedRecord {
    fn new(position: usize, target: &'static str, cause: &Cause) -> Self {
        Self { position, failure: Failure { target, cause: cause.to_string() } }
    }
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
            pointers: 0,
            failed: None,
        }
    }

    /// Reads the records, and keeps those that cannot be delivered whole.
    pub(crate) async fn read(&mut self, records: &[&'a RawValue]) {
        for (position, record) in records.iter().copied().enumerate() {
            if let Err(cause) = self.read_one(position, record).await {
                return self.fail(FailedRecord::new(position, FAILURE_BUCKET, &cause));
            }
        }
    }

    async fn read_one(&mut self, position: usize, record: &'a RawValue) -> Result<(), Cause> {
        let event = match event_of(record) {
            Ok(Some(event)) => event,
            Ok(None) => {
                self.skipped.push(position);
                return Ok(());
            }
            Err(reason) => {
                self.keep(record, &reason.to_string()).await?;
                self.unreadable.push(position);
                return Ok(());
            }
        };
        let dataref = match self.place_of(&event) {
            Place::Lake => Some(IN_THE_LAKE.to_owned()),
            Place::Bus => None,
            Place::FailureBucket => Some(self.keep(record, TOO_LARGE).await?),
        };
        // Nowhere but in the failure bucket.
        if self.targets.bus.is_none() && dataref.as_deref() != Some(IN_THE_LAKE) {
            self.unreadable.push(position);
            return Ok(());
        }
        self.events.push(PendingEvent { position, record, event, dataref });
        Ok(())
    }

    /// Sends the events to the lake, if there is one.
    pub(crate) async fn fill_lake(&mut self) {
        let Some(lake) = &self.targets.lake else { return };
        let is_for_lake = |pending: &&PendingEvent<'_>| pending.dataref.as_deref() == Some(IN_THE_LAKE);
        let for_lake: Vec<_> = self.events.iter().filter(is_for_lake).collect();
        let events: Vec<_> = for_lake.iter().map(|pending| pending.event.json.as_str()).collect();
        if let Err(Undelivered { position, cause }) = lake.put(&events, self.deadline).await {
            let position = for_lake.get(position).map_or(0, |pending| pending.position);
            self.fail(FailedRecord::new(position, "lake", &cause));
        }
    }

    /// Sends the events to the bus, if there is one.
    pub(crate) async fn notify_bus(&mut self) {
        let Some(bus) = &self.targets.bus else { return };
        let (pointers, failed) = {
            let mut entries: Vec<_> = self.events.iter().map(PendingEvent::entry).collect();
            let failed = self.send(bus, &mut entries).await.err();
            let is_pointer = |(entry, pending): &(&Entry<'_>, &PendingEvent<'_>)| {
                entry.is_pointer() && failed.as_ref().is_none_or(|failed| pending.position < failed.position)
            };
            (entries.iter().zip(&self.events).filter(is_pointer).count(), failed)
        };
        self.pointers = pointers;
        if let Some(failed) = failed {
            self.fail(failed);
        }
    }

    /// Sends entries. One that EventBridge finds malformed would hold up the shard: its record is kept, and a pointer to it
    /// is sent instead.
    async fn send<'s>(&'s self, bus: &Bus, entries: &mut [Entry<'s>]) -> Result<(), FailedRecord> {
        let mut first = 0;
        while let Err(Undelivered { position, cause }) =
            bus.put(entries.get(first..).unwrap_or_default(), self.deadline).await
        {
            first += position;
            let (Some(pending), Some(entry)) = (self.events.get(first), entries.get_mut(first)) else { break };
            let failed = |target, cause: &Cause| FailedRecord::new(pending.position, target, cause);
            if !matches!(cause, Cause::MalformedDetail) {
                return Err(failed("bus", &cause));
            }
            let url = self.keep(pending.record, MALFORMED).await.map_err(|cause| failed(FAILURE_BUCKET, &cause))?;
            if entry.is_pointer() {
                first += 1;
            } else {
                *entry = pending.pointer(&url);
            }
        }
        Ok(())
    }

    /// The position of the first failed record, if there is one, and what the log says.
    pub(crate) fn finish(self, records: usize) -> (Option<usize>, Counts) {
        let end = self.failed.as_ref().map_or(records, |failed| failed.position);
        let before_end = |positions: &[usize]| positions.iter().filter(|position| **position < end).count();
        let counts = Counts {
            records,
            delivered: self.events.len(),
            skipped: before_end(&self.skipped),
            unreadable: before_end(&self.unreadable),
            undelivered: records - end,
            pointers: self.pointers,
            failure: self.failed.map(|failed| failed.failure),
        };
        (counts.failure.is_some().then_some(end), counts)
    }

    /// Ends the batch before the failed record.
    fn fail(&mut self, failed: FailedRecord) {
        self.events.retain(|pending| pending.position < failed.position);
        self.failed = Some(failed);
    }

    fn place_of(&self, event: &CloudEvent) -> Place {
        let Targets { bus, has_lake, .. } = self.targets;
        if *has_lake && Lake::fits(&event.json) {
            Place::Lake
        } else if bus.is_some() && is_whole_on_bus(event) {
            Place::Bus
        } else {
            Place::FailureBucket
        }
    }

    /// Writes a record to the failure bucket. The key is the same when the record is delivered again.
    async fn keep(&self, record: &RawValue, reason: &str) -> Result<String, Cause> {
        let failures = &self.targets.failures;
        let key = self.failure_key(record);
        // Strings and JSON always serialize.
        let body = serde_json::to_string(&KeptRecord { reason, record }).unwrap_or_default();
        failures.put(&key, body, self.deadline).await?;
        Ok(failures.s3_url(&key))
    }

    /// `unreadable/2026/11/20/<eventID>.json`, with the day of the change and, without an eventID, the sequence number or
    /// the digest of the record.
    fn failure_key(&self, record: &RawValue) -> String {
        let RecordName { event_id, sequence_number, created_at } = RecordName::of(record);
        let is_name = |name: &String| {
            (1..=MAX_NAME_CHARS).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let name = [event_id, sequence_number].into_iter().flatten().find(is_name);
        let name = name.unwrap_or_else(|| Digest::of(record.get()).to_hex());
        let day = created_at.map_or(self.now, timestamp).to_string();
        let day = day.get(..10).unwrap_or_default().replace('-', "/");
        format!("unreadable/{day}/{name}.json")
    }
}

/// Where an event is whole for certain.
enum Place {
    Lake,
    Bus,
    FailureBucket,
}

fn is_whole_on_bus(event: &CloudEvent) -> bool {
    !event.has_large_number && Bus::fits(event.kind.detail_type(), &event.json)
}

impl PendingEvent<'_> {
    fn entry(&self) -> Entry<'_> {
        match &self.dataref {
            Some(dataref) if !is_whole_on_bus(&self.event) => self.pointer(dataref),
            _ => self.entry_with(Cow::Borrowed(&self.event.json)),
        }
    }

    fn pointer(&self, dataref: &str) -> Entry<'_> {
        self.entry_with(Cow::Owned(self.event.pointer(dataref)))
    }

    fn entry_with<'d>(&self, detail: Cow<'d, str>) -> Entry<'d> {
        Entry { detail_type: self.event.kind.detail_type(), time: self.event.time, detail }
    }
}
