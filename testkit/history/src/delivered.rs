//! Reads the events that the targets of the delivery took: back to items, as DynamoDB would return them. Must not know what
//! was sent or stored.

use std::collections::BTreeMap;

use consistency::Fingerprint;
use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::delivery_checker::{DeliveredSignal, key_of};
use crate::stored::who;
use sandbox::fake_targets::Target;

/// The fields of a signal that are attributes of its item.
const FIELDS: [&str; 6] = ["customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data"];

/// An event, as far as it is read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    id: String,
    source: String,
    subject: String,
    data: Option<Box<RawValue>>,
}

impl Event {
    pub(super) fn parse(json: &str) -> Self {
        parsed(json)
    }

    fn account(&self) -> &str {
        let account = self.source.strip_prefix("/accounts/");
        let account = account.and_then(|rest| rest.strip_suffix("/signals"));
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
        let received_at = time.parse().map_or(0, |time: Timestamp| time.millis() * 1_000);
        let content = self.data.as_deref().map(|data| Fingerprint::of(&self.item(data).to_string()));
        DeliveredSignal { target, batch, position, who, key: key_of(who, received_at, identifier, index), content }
    }

    /// The item of the signal, without what the service adds to it, as DynamoDB's JSON with sorted names.
    fn item(&self, data: &RawValue) -> Value {
        let (mut item, unknown): (Map<_, _>, Map<_, _>) =
            attributes(data).into_iter().partition(|(name, _)| FIELDS.contains(&name.as_str()));
        if !unknown.is_empty() {
            item.insert("undocumented".to_owned(), json!({"M": unknown}));
        }
        item.insert("accountId".to_owned(), json!({"S": self.account()}));
        item.into()
    }
}

/// The attribute value of a JSON value. A number keeps its text, which a float would round.
fn attribute(json: &RawValue) -> Value {
    let text = json.get();
    match text.as_bytes() {
        [b'{', ..] => json!({"M": attributes(json)}),
        [b'[', ..] => {
            let values: Vec<&RawValue> = parsed(text);
            json!({"L": values.into_iter().map(attribute).collect::<Vec<_>>()})
        }
        [b'"', ..] => json!({"S": parsed::<String>(text)}),
        [b't' | b'f', ..] => json!({"BOOL": text == "true"}),
        [b'n', ..] => json!({"NULL": true}),
        _ => json!({"N": without_exponent(text)}),
    }
}

/// The attribute values of the members of an object.
fn attributes(object: &RawValue) -> Map<String, Value> {
    let members: BTreeMap<String, &RawValue> = parsed(object.get());
    members.into_iter().map(|(name, value)| (name, attribute(value))).collect()
}

fn parsed<'t, T: Deserialize<'t>>(json: &'t str) -> T {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json} is not of an event: {error}"))
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
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_of_a_number_has_its_digits() {
        let json: &RawValue =
            parsed(r#"{"a 1":[1,-2.50 , 3E-1],"b\"2":"4,\\",  "c": 5 ,"d":[],"e":{"f":true,"g":null}}"#);
        let list = json!([{"N": "1"}, {"N": "-2.50"}, {"N": "0.3"}]);
        let nested = json!({"f": {"BOOL": true}, "g": {"NULL": true}});
        let expected =
            json!({"a 1": {"L": list}, "b\"2": {"S": "4,\\"}, "c": {"N": "5"}, "d": {"L": []}, "e": {"M": nested}});
        assert_eq!(attribute(json), json!({"M": expected}));
    }

    #[test]
    fn number_with_an_exponent_is_written_out() {
        for (number, written_out) in
            [("-15E-8", "-0.00000015"), ("15E-1", "1.5"), ("1E3", "1000"), ("-1.50", "-1.50"), ("12E-2", "0.12")]
        {
            assert_eq!(without_exponent(number), written_out);
        }
    }
}
