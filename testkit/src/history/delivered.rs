//! Reads the events that the targets of the delivery took: back to items, as DynamoDB would return them. Must not know what
//! was sent or stored.

use std::collections::BTreeMap;

use consistency::Fingerprint;
use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::delivery_checker::{DeliveredSignal, key_of};
use super::stored::who;
use crate::fake_targets::Target;

/// The fields of a signal that are attributes of its item.
const FIELDS: [&str; 6] = ["customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data"];

/// `dataref` of a pointer to an event that is in the lake.
const IN_THE_LAKE: &str = "urn:intake:lake";

/// The attributes of an event.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    id: String,
    source: String,
    #[serde(rename = "type")]
    event_type: String,
    subject: String,
    time: String,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    dataref: Option<String>,
}

impl<'a> Event<'a> {
    pub(super) fn parse(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json} is not an event: {error}"))
    }

    fn account(&self) -> &str {
        let account = self.source.strip_prefix("/accounts/").and_then(|rest| rest.strip_suffix("/signals"));
        account.unwrap_or_default()
    }

    /// The key of its item.
    pub(super) fn key(&self) -> [String; 2] {
        [format!("{}#{}", self.account(), self.subject), self.id.clone()]
    }

    /// The signal, which `target` took in `batch`, and whose record was at `position` of the stream.
    pub(super) fn signal(&self, target: Target, batch: u64, position: Option<u32>) -> DeliveredSignal {
        let who = who(self.account(), &self.subject);
        let mut id = self.id.split('#');
        let mut next = || id.next().unwrap_or_default();
        let (time, identifier, index) = (next(), next(), next().parse().unwrap_or(u64::MAX));
        let received_at = time.parse().map_or(0, |time: Timestamp| time.millis().saturating_mul(1_000));
        let item = self.data.map(|data| self.item(data));
        let subject_and_type = [["customerId", "eventType"], ["emitterId", "stepNodeId"]];
        let is_in = |item: &Value| {
            let is_pair = |[subject, of]: &[&str; 2]| {
                item[subject]["S"] == self.subject.as_str() && item[of]["S"] == self.event_type.as_str()
            };
            subject_and_type.iter().filter(|pair| is_pair(pair)).count() == 1
        };
        let contradiction = if time != self.time {
            Some("its time is not that of its id")
        } else if item.as_ref().is_some_and(|item| !is_in(item)) {
            Some("its subject and type are not those of its data")
        } else if item.is_none() && self.dataref.as_deref() != Some(IN_THE_LAKE) {
            Some("it has no data and does not point to the lake")
        } else {
            None
        };
        DeliveredSignal {
            target,
            batch,
            position,
            who,
            key: key_of(who, received_at, identifier, index),
            content: item.map(|item| Fingerprint::of(&item.to_string())),
            contradiction,
        }
    }

    /// The item of the signal, without what the service adds to it, as DynamoDB's JSON with sorted names.
    fn item(&self, data: &RawValue) -> Value {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(data.get()).unwrap_or_default();
        let (mut item, mut unknown) = (Map::new(), Map::new());
        for (name, value) in fields {
            let own = if FIELDS.contains(&name.as_str()) { &mut item } else { &mut unknown };
            own.insert(name, attribute(value));
        }
        if !unknown.is_empty() {
            item.insert("undocumented".to_owned(), json!({"M": unknown}));
        }
        item.insert("accountId".to_owned(), json!({"S": self.account()}));
        item.into()
    }
}

/// The attribute value of a JSON value. No number becomes a float.
fn attribute(value: &RawValue) -> Value {
    let text = value.get();
    let parsed = |name: &str| json!({name: serde_json::from_str::<Value>(text).unwrap_or_default()});
    match text.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
            json!({"M": fields.into_iter().map(|(name, value)| (name, attribute(value))).collect::<Map<_, _>>()})
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            json!({"L": values.into_iter().map(attribute).collect::<Vec<_>>()})
        }
        Some(b'"') => parsed("S"),
        Some(b't' | b'f') => parsed("BOOL"),
        Some(b'n') => json!({"NULL": true}),
        _ => json!({"N": without_exponent(text)}),
    }
}

/// A number that has no point, or no exponent, written out as DynamoDB returns it.
fn without_exponent(number: &str) -> String {
    let Some((digits, exponent)) = number.split_once('E') else { return number.to_owned() };
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let places = usize::try_from(exponent.unsigned_abs()).unwrap_or_default();
    if exponent >= 0 {
        return format!("{sign}{digits}{}", "0".repeat(places));
    }
    let padded = format!("{digits:0>width$}", width = places.saturating_add(1));
    let (whole, fraction) = padded.split_at(padded.len().saturating_sub(places));
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_with_an_exponent_is_written_out() {
        for (number, written_out) in
            [("-15E-8", "-0.00000015"), ("15E-1", "1.5"), ("1E3", "1000"), ("-1.50", "-1.50"), ("12E-2", "0.12")]
        {
            assert_eq!(without_exponent(number), written_out);
        }
    }
}
