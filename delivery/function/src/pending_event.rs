//! An event on its way to the targets: where it is whole, and what the bus gets of it. This module
//! must not know how a target is called.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::bus::{Bus, BusEntry};
use crate::cloud_event::{CloudEvent, IN_THE_LAKE};

/// An event with its record.
pub(crate) struct PendingEvent<'a> {
    /// The position of the record in the batch.
    pub(crate) position: usize,
    pub(crate) record: &'a RawValue,
    pub(crate) event: CloudEvent,
    /// Where the event is whole, unless that is the bus.
    pub(crate) dataref: Option<String>,
    pub(crate) state: EventState,
}

/// What became of an event so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventState {
    /// No target refused it.
    Whole,
    /// A target refused it, and the failure bucket has it. The bus gets a reference.
    Refused,
    /// It is only in the failure bucket.
    Kept,
}

impl PendingEvent<'_> {
    /// What the bus gets: the event or a reference to it.
    pub(crate) fn entry(&self) -> BusEntry<'_> {
        let detail = match &self.dataref {
            Some(dataref) if self.is_reference() => Cow::Owned(self.event.reference(dataref)),
            _ => Cow::Borrowed(self.event.json.as_str()),
        };
        BusEntry {
            detail_type: self.event.kind.detail_type(),
            time: self.event.time,
            detail,
        }
    }

    /// Whether the bus gets a reference to the event.
    pub(crate) fn is_reference(&self) -> bool {
        self.state != EventState::Whole || !is_whole_on_bus(&self.event)
    }

    pub(crate) fn is_in_lake(&self) -> bool {
        self.dataref.as_deref() == Some(IN_THE_LAKE)
    }
}

/// Whether the bus can have the event itself, and needs no reference to it.
pub(crate) fn is_whole_on_bus(event: &CloudEvent) -> bool {
    !event.has_large_number && Bus::fits(event.kind.detail_type(), &event.json)
}
