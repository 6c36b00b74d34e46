//! From a record of a stream to an event. Must not know where events go.
//!
//! Records are told apart by their keys, not by the names of tables: a signal has a sort key, and a
//! customer does not.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::customer::is_reserved;
use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cloud_event::{Attributes, CloudEvent, Kind};
use crate::event::{Change, EventName, StreamRecord, TIME_TO_LIVE, Text};
use crate::plain_json::{AttributeValue, PlainJson};

/// Why a record cannot be read. The message may contain a value of the record, so it is kept with
/// the record, and never logged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreadableRecord {
    #[error("the record is not one of a stream of this service: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("the partition key is not accountId#id")]
    PartitionKey,
    #[error("the sort key is not receivedAt#requestIdentifier#index")]
    SortKey,
    #[error("the record has no image of the item")]
    NoImage,
    #[error("undocumented is not a map")]
    Undocumented,
    #[error("the signal has neither customerId and eventType nor emitterId and stepNodeId")]
    Identity,
    #[error("the time of the change is missing or malformed")]
    Time,
}

/// The event of a record. `None` for a record without an event: that of a signal that was changed
/// or deleted, or of an item whose time to live has passed.
pub(crate) fn event_of(record: &RawValue) -> Result<Option<CloudEvent>, UnreadableRecord> {
    let record: StreamRecord<'_> = serde_json::from_str(record.get())?;
    let changed_by = record.user_identity.as_ref();
    if changed_by.is_some_and(|identity| identity.principal_id == TIME_TO_LIVE) {
        return Ok(None);
    }
    let keys = &record.dynamodb.keys;
    let (account_id, subject) = keys
        .pk
        .text
        .split_once('#')
        .ok_or(UnreadableRecord::PartitionKey)?;
    let event = match (&keys.sk, record.event_name) {
        (Some(sk), EventName::Insert) => signal(account_id, subject, &sk.text, &record.dynamodb)?,
        (Some(_), EventName::Modify | EventName::Remove) => return Ok(None),
        (None, _) => customer(account_id, subject, &record)?,
    };
    Ok(Some(event))
}

/// The attributes of a signal that its event has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignalImage<'a> {
    #[serde(borrow)]
    customer_id: Option<Text<'a>>,
    #[serde(borrow)]
    event_type: Option<Text<'a>>,
    #[serde(borrow)]
    emitter_id: Option<Text<'a>>,
    #[serde(borrow)]
    step_node_id: Option<Text<'a>>,
    #[serde(borrow)]
    eventflow_identifier: Option<Text<'a>>,
    #[serde(borrow)]
    data: AttributeValue<'a>,
    #[serde(borrow)]
    undocumented: Option<AttributeValue<'a>>,
}

/// Who did what: the identity of a signal, with the names that the client gave its fields.
struct Identity<'i> {
    subject_field: &'static str,
    subject: &'i str,
    type_field: &'static str,
    event_type: &'i str,
}

impl SignalImage<'_> {
    /// The identity of the signal, in one of its two shapes.
    fn identity(&self) -> Result<Identity<'_>, UnreadableRecord> {
        match (
            &self.customer_id,
            &self.event_type,
            &self.emitter_id,
            &self.step_node_id,
        ) {
            (Some(customer_id), Some(event_type), None, None) => Ok(Identity {
                subject_field: "customerId",
                subject: &customer_id.text,
                type_field: "eventType",
                event_type: &event_type.text,
            }),
            (None, None, Some(emitter_id), Some(step_node_id)) => Ok(Identity {
                subject_field: "emitterId",
                subject: &emitter_id.text,
                type_field: "stepNodeId",
                event_type: &step_node_id.text,
            }),
            _ => Err(UnreadableRecord::Identity),
        }
    }
}

fn signal(
    account_id: &str,
    subject: &str,
    sort_key: &str,
    change: &Change<'_>,
) -> Result<CloudEvent, UnreadableRecord> {
    let parts: Vec<_> = sort_key.split('#').collect();
    let [received_at, _request_identifier, _index] = parts.as_slice() else {
        return Err(UnreadableRecord::SortKey);
    };
    let received_at = received_at.parse().map_err(|_| UnreadableRecord::SortKey)?;
    let image = change.new_image.ok_or(UnreadableRecord::NoImage)?;
    let image: SignalImage<'_> = serde_json::from_str(image.get())?;
    let identity = image.identity()?;
    let mut data = PlainJson::default();
    data.raw("{");
    data.field(identity.subject_field, identity.subject);
    data.field(identity.type_field, identity.event_type);
    if let Some(flow) = &image.eventflow_identifier {
        data.field("eventflowIdentifier", &flow.text);
    }
    data.raw("\"data\":");
    data.value(&image.data);
    data.raw(",");
    match &image.undocumented {
        Some(AttributeValue::M(unknown_fields)) => data.fields(unknown_fields),
        Some(_) => return Err(UnreadableRecord::Undocumented),
        None => {}
    }
    data.end("}");
    let attributes = Attributes {
        kind: Kind::Signal,
        id: sort_key,
        account_id,
        event_type: identity.event_type,
        subject,
        time: received_at,
    };
    Ok(CloudEvent::new(attributes, Some(&data)))
}

fn customer(
    account_id: &str,
    subject: &str,
    record: &StreamRecord<'_>,
) -> Result<CloudEvent, UnreadableRecord> {
    let change = &record.dynamodb;
    let event_type = match record.event_name {
        EventName::Insert => "intake.customer.created",
        EventName::Modify => "intake.customer.updated",
        EventName::Remove => "intake.customer.deleted",
    };
    let attributes = |time: Timestamp| Attributes {
        kind: Kind::Customer,
        id: &record.event_id,
        account_id,
        event_type,
        subject,
        time,
    };
    if record.event_name == EventName::Remove {
        let deleted_at = change
            .approximate_creation_date_time
            .ok_or(UnreadableRecord::Time)?;
        // Without the old profile: an erasure would publish it.
        return Ok(CloudEvent::new(attributes(timestamp(deleted_at)), None));
    }
    let mut data = PlainJson::default();
    data.raw("{");
    if record.event_name == EventName::Modify {
        let old = Profile::read(change.old_image)?;
        data.raw("\"old\":");
        data.json(&old.fields);
        data.raw(",");
    }
    let new = Profile::read(change.new_image)?;
    data.raw("\"new\":");
    data.json(&new.fields);
    data.end("}");
    let updated_at = new.updated_at.ok_or(UnreadableRecord::Time)?;
    Ok(CloudEvent::new(attributes(updated_at), Some(&data)))
}

/// A timestamp from seconds since 1970, which the stream has without fractions.
pub(crate) fn timestamp(seconds: f64) -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and so does the timestamp"
    )]
    let millis = (seconds * 1000.0) as u64;
    Timestamp::from_millis(millis)
}

/// The profile of a customer.
struct Profile {
    /// The attributes that the client sent, as an object.
    fields: PlainJson,
    /// The time of its last change, if it is a timestamp.
    updated_at: Option<Timestamp>,
}

impl Profile {
    /// Reads the profile in an image of the item.
    fn read(image: Option<&RawValue>) -> Result<Self, UnreadableRecord> {
        let image = image.ok_or(UnreadableRecord::NoImage)?;
        let item: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(image.get())?;
        let updated_at = match item.get("updatedAt") {
            Some(value) => {
                let value: Text<'_> = serde_json::from_str(value.get())?;
                value.text.parse().ok()
            }
            None => None,
        };
        let mut sent = BTreeMap::new();
        for (name, value) in item {
            if !is_reserved(&name) {
                sent.insert(name, serde_json::from_str(value.get())?);
            }
        }
        let mut fields = PlainJson::default();
        fields.value(&AttributeValue::M(sent));
        Ok(Self { fields, updated_at })
    }
}

#[cfg(test)]
mod tests;
