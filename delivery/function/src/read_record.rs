//! Reads a record of a stream as a CloudEvent. This module must not know where they go.
//!
//! Records are told apart by their keys, not by the names of tables: a signal has a sort key, and a
//! customer does not.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::customer::attributes::is_reserved;
use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cloud_event::{CloudEvent, CloudEventAttributes, CloudEventKind};
use crate::plain_json::{AttributeValue, PlainJson};
use crate::stream_record::{EventName, ItemChange, StreamRecord, TIME_TO_LIVE, Text};

/// Why a record cannot be read. The delivery writes the message with the record to the failure
/// bucket and goes on. The message may contain a value of the record, so it is never logged.
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

/// Reads the CloudEvent of a record. A record of a signal that was changed or deleted, or of an
/// item whose time to live has passed, has none.
pub(crate) fn read_record(record: &RawValue) -> Result<Option<CloudEvent>, UnreadableRecord> {
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
    let cloud_event = match (&keys.sk, record.event_name) {
        (Some(sk), EventName::Insert) => {
            signal_cloud_event(account_id, subject, &sk.text, &record.dynamodb)?
        }
        (Some(_), EventName::Modify | EventName::Remove) => return Ok(None),
        (None, _) => customer_cloud_event(account_id, subject, &record)?,
    };
    Ok(Some(cloud_event))
}

/// The attributes of a signal that its CloudEvent has.
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

/// The subject and the type of a signal, with the names of the fields in which the client sent
/// them.
struct IdentityFields<'i> {
    subject_field: &'static str,
    subject: &'i str,
    type_field: &'static str,
    cloud_event_type: &'i str,
}

impl SignalImage<'_> {
    /// The identity of the signal, in one of its two shapes.
    fn identity(&self) -> Result<IdentityFields<'_>, UnreadableRecord> {
        match (
            &self.customer_id,
            &self.event_type,
            &self.emitter_id,
            &self.step_node_id,
        ) {
            (Some(customer_id), Some(event_type), None, None) => Ok(IdentityFields {
                subject_field: "customerId",
                subject: &customer_id.text,
                type_field: "eventType",
                cloud_event_type: &event_type.text,
            }),
            (None, None, Some(emitter_id), Some(step_node_id)) => Ok(IdentityFields {
                subject_field: "emitterId",
                subject: &emitter_id.text,
                type_field: "stepNodeId",
                cloud_event_type: &step_node_id.text,
            }),
            _ => Err(UnreadableRecord::Identity),
        }
    }
}

fn signal_cloud_event(
    account_id: &str,
    subject: &str,
    sort_key: &str,
    change: &ItemChange<'_>,
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
    data.push_text("{");
    data.push_string_field(identity.subject_field, identity.subject);
    data.push_string_field(identity.type_field, identity.cloud_event_type);
    if let Some(flow) = &image.eventflow_identifier {
        data.push_string_field("eventflowIdentifier", &flow.text);
    }
    data.push_text("\"data\":");
    data.push_value(&image.data);
    data.push_text(",");
    match &image.undocumented {
        Some(AttributeValue::M(unknown_fields)) => data.push_fields(unknown_fields),
        Some(_) => return Err(UnreadableRecord::Undocumented),
        None => {}
    }
    data.close("}");
    let attributes = CloudEventAttributes {
        kind: CloudEventKind::Signal,
        id: sort_key,
        account_id,
        cloud_event_type: identity.cloud_event_type,
        subject,
        time: received_at,
    };
    Ok(CloudEvent::new(attributes, Some(&data)))
}

fn customer_cloud_event(
    account_id: &str,
    subject: &str,
    record: &StreamRecord<'_>,
) -> Result<CloudEvent, UnreadableRecord> {
    let change = &record.dynamodb;
    let cloud_event_type = match record.event_name {
        EventName::Insert => "intake.customer.created",
        EventName::Modify => "intake.customer.updated",
        EventName::Remove => "intake.customer.deleted",
    };
    let attributes = |time: Timestamp| CloudEventAttributes {
        kind: CloudEventKind::Customer,
        id: &record.event_id,
        account_id,
        cloud_event_type,
        subject,
        time,
    };
    if record.event_name == EventName::Remove {
        let deleted_at = change.changed_at().ok_or(UnreadableRecord::Time)?;
        // The CloudEvent has no old profile, because an erasure would publish it.
        return Ok(CloudEvent::new(attributes(deleted_at), None));
    }
    let mut data = PlainJson::default();
    data.push_text("{");
    if record.event_name == EventName::Modify {
        let old = ProfileImage::read(change.old_image)?;
        data.push_text("\"old\":");
        data.append(&old.fields);
        data.push_text(",");
    }
    let new = ProfileImage::read(change.new_image)?;
    data.push_text("\"new\":");
    data.append(&new.fields);
    data.close("}");
    let updated_at = new.updated_at.ok_or(UnreadableRecord::Time)?;
    Ok(CloudEvent::new(attributes(updated_at), Some(&data)))
}

/// The profile in an image of a customer's item.
struct ProfileImage {
    /// The attributes that the client sent, as an object.
    fields: PlainJson,
    /// The time of its last change, if it is a timestamp.
    updated_at: Option<Timestamp>,
}

impl ProfileImage {
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
        fields.push_value(&AttributeValue::M(sent));
        Ok(Self { fields, updated_at })
    }
}

#[cfg(test)]
mod tests;
