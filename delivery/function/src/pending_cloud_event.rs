//! A CloudEvent on its way to the targets: where it is whole, and what the bus gets of it. This
//! module must not know how a target is invoked.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::bus::{Bus, BusEntry};
use crate::cloud_event::{CloudEvent, Dataref};
use crate::stream_record::RecordPosition;

/// A CloudEvent with its record.
pub(crate) struct PendingCloudEvent<'a> {
    pub(crate) position: RecordPosition,
    pub(crate) record: &'a RawValue,
    pub(crate) cloud_event: CloudEvent,
    /// Where the CloudEvent is whole by the time that the bus gets a reference to it. `None` if only
    /// the bus gets it.
    pub(crate) dataref: Option<Dataref>,
    pub(crate) state: CloudEventState,
}

/// What became of a CloudEvent so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloudEventState {
    /// No target refused it.
    NotRefused,
    /// A target refused it, and the failure bucket keeps it. The bus gets a reference.
    RefusedThenKept,
    /// The failure bucket keeps it, and there is no bus, or the bus does not even take a reference.
    OnlyKept,
}

impl PendingCloudEvent<'_> {
    /// What the bus gets: the CloudEvent or a reference to it.
    pub(crate) fn entry(&self) -> BusEntry<'_> {
        let detail = match &self.dataref {
            Some(dataref) if self.is_reference() => Cow::Owned(self.cloud_event.reference(dataref)),
            _ => Cow::Borrowed(self.cloud_event.json.as_str()),
        };
        BusEntry {
            detail_type: self.cloud_event.kind.detail_type(),
            time: self.cloud_event.time,
            detail,
        }
    }

    /// Whether the bus gets a reference to the CloudEvent.
    pub(crate) fn is_reference(&self) -> bool {
        self.state != CloudEventState::NotRefused || !is_whole_on_bus(&self.cloud_event)
    }

    /// Whether the lake gets the CloudEvent: from this function, or from another.
    pub(crate) fn goes_to_lake(&self) -> bool {
        matches!(self.dataref, Some(Dataref::Lake))
    }
}

/// Whether the bus can have the CloudEvent itself, and needs no reference to it.
pub(crate) fn is_whole_on_bus(cloud_event: &CloudEvent) -> bool {
    !cloud_event.has_large_number && Bus::fits(cloud_event.kind.detail_type(), &cloud_event.json)
}
