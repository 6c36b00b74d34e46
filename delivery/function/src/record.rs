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
    if record
        .user_identity
        .as_ref()
        .is_some_and(|by| by.principal_id == TIME_TO_LIVE)
    {
        return Ok(None);
    }
    let pk = &record.dynamodb.keys.pk.text;
    let (account_id, subject) = pk.split_once('#').ok_or(UnreadableRecord::PartitionKey)?;
    match (&record.dynamodb.keys.sk, record.event_name) {
        (Some(sk), EventName::Insert) => {
            signal(account_id, subject, &sk.text, &record.dynamodb).map(Some)
        }
        (Some(_), EventName::Modify | EventName::Remove) => Ok(None),
        (None, _) => customer(account_id, subject, &record).map(Some),
    }
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

fn signal(
    account_id: &str,
    subject: &str,
    sort_key: &str,
    change: &Change<'_>,
) -> Result<CloudEvent, UnreadableRecord> {
    let received_at = match sort_key.split('#').collect::<Vec<_>>().as_slice() {
        [received_at, _, _] => received_at.parse().map_err(|_| UnreadableRecord::SortKey)?,
        _ => return Err(UnreadableRecord::SortKey),
    };
    let image = change.new_image.ok_or(UnreadableRecord::NoImage)?;
    let image: SignalImage<'_> = serde_json::from_str(image.get())?;
    let [(subject_name, subject_id), (type_name, event_type)] = match (
        &image.customer_id,
        &image.event_type,
        &image.emitter_id,
        &image.step_node_id,
    ) {
        (Some(customer_id), Some(event_type), None, None) => {
            [("customerId", customer_id), ("eventType", event_type)]
        }
        (None, None, Some(emitter_id), Some(step)) => {
            [("emitterId", emitter_id), ("stepNodeId", step)]
        }
        _ => return Err(UnreadableRecord::Identity),
    };
    let mut data = PlainJson::default();
    data.raw("{");
    data.field(subject_name, &subject_id.text);
    data.field(type_name, &event_type.text);
    if let Some(flow) = &image.eventflow_identifier {
        data.field("eventflowIdentifier", &flow.text);
    }
    data.raw("\"data\":");
    data.value(&image.data);
    data.raw(",");
    if let Some(unknown_fields) = &image.undocumented {
        let AttributeValue::M(unknown_fields) = unknown_fields else {
            return Err(UnreadableRecord::Undocumented);
        };
        data.fields(unknown_fields);
    }
    data.end("}");
    let event_type = event_type.text.as_ref();
    let attributes = Attributes {
        kind: Kind::Signal,
        id: sort_key,
        account_id,
        event_type,
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
    let StreamRecord {
        event_id,
        event_name,
        dynamodb,
        ..
    } = record;
    let event = |event_type, time, data| {
        let attributes = Attributes {
            kind: Kind::Customer,
            id: event_id,
            account_id,
            event_type,
            subject,
            time,
        };
        CloudEvent::new(attributes, data)
    };
    if *event_name == EventName::Remove {
        let time = dynamodb
            .approximate_creation_date_time
            .map(timestamp)
            .ok_or(UnreadableRecord::Time)?;
        // Without the old profile: an erasure would publish it.
        return Ok(event("intake.customer.deleted", time, None));
    }
    let mut data = PlainJson::default();
    data.raw("{");
    if *event_name == EventName::Modify {
        data.raw("\"old\":");
        data.json(&profile(dynamodb.old_image)?.0);
        data.raw(",");
    }
    let (new, updated_at) = profile(dynamodb.new_image)?;
    data.raw("\"new\":");
    data.json(&new);
    data.end("}");
    let event_type = if *event_name == EventName::Insert {
        "intake.customer.created"
    } else {
        "intake.customer.updated"
    };
    Ok(event(
        event_type,
        updated_at.ok_or(UnreadableRecord::Time)?,
        Some(&data),
    ))
}

/// A timestamp from seconds since 1970, which the stream has without fractions.
pub(crate) fn timestamp(seconds: f64) -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and so does the timestamp"
    )]
    Timestamp::from_millis((seconds * 1000.0) as u64)
}

/// The profile of a customer, which is the attributes that the client sent, and the time of its
/// last change.
fn profile(image: Option<&RawValue>) -> Result<(PlainJson, Option<Timestamp>), UnreadableRecord> {
    let image = image.ok_or(UnreadableRecord::NoImage)?.get();
    let item: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(image)?;
    let updated_at = item
        .get("updatedAt")
        .map(|value| serde_json::from_str::<Text<'_>>(value.get()))
        .transpose()?;
    let sent = item.into_iter().filter(|(name, _)| !is_reserved(name));
    let sent = sent.map(|(name, value)| Ok((name, serde_json::from_str(value.get())?)));
    let mut profile = PlainJson::default();
    profile.value(&AttributeValue::M(
        sent.collect::<Result<_, serde_json::Error>>()?,
    ));
    Ok((profile, updated_at.and_then(|time| time.text.parse().ok())))
}

#[cfg(test)]
mod tests;
