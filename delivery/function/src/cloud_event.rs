//! A CloudEvents 1.0 event in JSON: what the bus and the lake get.
//!
//! | attribute | of a signal | of a customer change |
//! |---|---|---|
//! | `specversion` | `1.0` | `1.0` |
//! | `id` | the sort key of the item: `receivedAt#requestIdentifier#index`, with the requestIdentifier in lower case and the index in four digits | the `eventID` of the stream's record |
//! | `source` | `/accounts/<accountId>/signals` | `/accounts/<accountId>/customers` |
//! | `type` | the `eventType` or the `stepNodeId` | `intake.customer.created`, `intake.customer.updated` or `intake.customer.deleted` |
//! | `subject` | the `customerId` or the `emitterId` | the `customerId` |
//! | `time` | `receivedAt` | `updatedAt`; of a deletion, the time of the stream's record, in whole seconds |
//! | `datacontenttype` | `application/json` | `application/json`; absent in a deletion |
//! | `data` | the signal, with every field and digit | `{"old": profile, "new": profile}`; without `old` when it was created; absent in a deletion |
//! | `dataref` | only in a claim check | only in a claim check |
//!
//! `id` and `source` together are unique, and a record that is delivered again has the same:
//! consumers drop duplicates by them. `source` tells signals from customer changes; `type` does
//! not, since clients choose it.
//!
//! `data` of a signal has `customerId` and `eventType`, or `emitterId` and `stepNodeId`, and
//! `eventflowIdentifier` if there is one, `data` (an empty object when the client sent null or
//! nothing), and the fields that are not in the contract. A profile has the fields of
//! `customerData`. Numbers keep their digits; white space, the order of fields and the spelling of
//! escapes and exponents may change.
//!
//! A claim check is the CloudEvent without `datacontenttype` and `data`, with `dataref`: where the
//! CloudEvent is whole. It is `urn:intake:lake` (the CloudEvent with the same `id` and `source` in
//! the lake) or the `s3:` URL of an object in the failure bucket, whose `record` is the stream's
//! record.

use model::timestamp::Timestamp;

use crate::plain_json::PlainJson;

/// The largest CloudEvent of the lake with the end of its line, in bytes. It is the largest record of
/// Firehose: "as large as 1,000 KB (before base64 encoding)" (`PutRecordBatch` in the Firehose API
/// reference).
pub(crate) const MAX_LAKE_BYTES: usize = 1_000_000;

/// What a CloudEvent is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloudEventKind {
    Signal,
    Customer,
}

impl CloudEventKind {
    /// The `DetailType` on the bus. It does not contain the `eventType`, which may be longer than
    /// the 128 characters that a `DetailType` may have.
    pub(crate) fn detail_type(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Customer => "customer",
        }
    }

    fn source(self, account_id: &str) -> String {
        match self {
            Self::Signal => format!("/accounts/{account_id}/signals"),
            Self::Customer => format!("/accounts/{account_id}/customers"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CloudEventAttributes<'a> {
    pub(crate) kind: CloudEventKind,
    pub(crate) id: &'a str,
    pub(crate) account_id: &'a str,
    pub(crate) cloud_event_type: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) time: Timestamp,
}

/// The CloudEvent of one record of a stream.
#[derive(Debug)]
pub(crate) struct CloudEvent {
    pub(crate) kind: CloudEventKind,
    pub(crate) time: Timestamp,
    /// Whether `PutEvents` may not take its numbers.
    pub(crate) has_large_number: bool,
    /// The whole CloudEvent, with its data.
    pub(crate) json: String,
    /// The beginning of `json`, before its `datacontenttype` and `data`.
    attributes: PlainJson,
}

impl CloudEvent {
    pub(crate) fn new(attributes: CloudEventAttributes<'_>, data: Option<&PlainJson>) -> Self {
        let CloudEventAttributes {
            kind,
            id,
            account_id,
            cloud_event_type,
            subject,
            time,
        } = attributes;
        let mut json = PlainJson::default();
        json.push_text("{");
        json.push_string_field("specversion", "1.0");
        json.push_string_field("id", id);
        json.push_string_field("source", &kind.source(account_id));
        json.push_string_field("type", cloud_event_type);
        json.push_string_field("subject", subject);
        json.push_string_field("time", &time.to_string());
        let attributes = json.clone();
        if let Some(data) = data {
            json.push_string_field("datacontenttype", "application/json");
            json.push_text("\"data\":");
            json.append(data);
        }
        json.close("}");
        let has_large_number = json.has_large_number;
        Self {
            kind,
            time,
            has_large_number,
            json: json.into_string(),
            attributes,
        }
    }

    /// Whether the lake can have it.
    pub(crate) fn fits_lake(&self) -> bool {
        self.json.len() < MAX_LAKE_BYTES
    }

    /// The CloudEvent without its data, which is at `dataref`.
    pub(crate) fn claim_check(&self, dataref: &str) -> String {
        let mut json = self.attributes.clone();
        json.push_string_field("dataref", dataref);
        json.close("}");
        json.into_string()
    }
}
