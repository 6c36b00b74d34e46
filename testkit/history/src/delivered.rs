//! Reads the events that the targets of the delivery took: back to items, as DynamoDB would return them. Must not know what
//! was sent or stored.

use consistency::Fingerprint;
use model::timestamp::Timestamp;
use serde_json::{Map, Value, json};

use crate::delivery_checker::{DeliveredSignal, key_of};
use crate::stored::who;
use sandbox::fake_targets::Target;

/// The fields of a signal that are attributes of its item.
const FIELDS: [&str; 6] = ["customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data"];

/// `dataref` of a pointer to an event that is in the lake.
const IN_THE_LAKE: &str = "urn:intake:lake";

/// Begins the text of a number, which a float would round.
const NUMBER: char = '\0';

/// An event.
pub(super) struct Event(Value);

impl Event {
    pub(super) fn parse(json: &str) -> Self {
        Self(quote_numbers(json).parse().unwrap_or_else(|error| panic!("{json} is not an event: {error}")))
    }

    fn attribute(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    fn account(&self) -> &str {
        let account = self.attribute("source").strip_prefix("/accounts/");
        let account = account.and_then(|rest| rest.strip_suffix("/signals"));
        account.unwrap_or_default()
    }

    /// The key of its item.
    pub(super) fn key(&self) -> [String; 2] {
        [format!("{}#{}", self.account(), self.attribute("subject")), self.attribute("id").to_owned()]
    }

    /// The signal, which `target` took in `batch`, and whose record was at `position` of the stream.
    pub(super) fn signal(&self, target: Target, batch: u64, position: Option<u32>) -> DeliveredSignal {
        let [subject, event_type] = ["subject", "type"].map(|name| self.attribute(name));
        let who = who(self.account(), subject);
        let mut id = self.attribute("id").split('#');
        let mut next = || id.next().unwrap_or_default();
        let (time, identifier, index) = (next(), next(), next().parse().unwrap_or(u64::MAX));
        let received_at = time.parse().map_or(0, |time: Timestamp| time.millis().saturating_mul(1_000));
        let item = self.0["data"].as_object().map(|data| self.item(data));
        let is_in = |item: &Value| {
            [("customerId", "eventType"), ("emitterId", "stepNodeId")]
                .iter()
                .any(|(whose, what)| item[whose]["S"] == subject && item[what]["S"] == event_type)
        };
        let contradiction = if time != self.attribute("time") {
            Some("its time is not that of its id")
        } else if item.as_ref().is_some_and(|item| !is_in(item)) {
            Some("its subject and type are not those of its data")
        } else if item.is_none() && self.attribute("dataref") != IN_THE_LAKE {
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
    fn item(&self, data: &Map<String, Value>) -> Value {
        let attributes = data.iter().map(|(name, value)| (name.clone(), attribute(value)));
        let (mut item, unknown): (Map<_, _>, Map<_, _>) =
            attributes.partition(|(name, _)| FIELDS.contains(&name.as_str()));
        if !unknown.is_empty() {
            item.insert("undocumented".to_owned(), json!({"M": unknown}));
        }
        item.insert("accountId".to_owned(), json!({"S": self.account()}));
        item.into()
    }
}

/// The attribute value of a JSON value.
fn attribute(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: Map<_, _> = fields.iter().map(|(name, value)| (name.clone(), attribute(value))).collect();
            json!({"M": fields})
        }
        Value::Array(values) => json!({"L": values.iter().map(attribute).collect::<Vec<_>>()}),
        Value::String(text) => match text.strip_prefix(NUMBER) {
            Some(number) => json!({"N": without_exponent(number)}),
            None => json!({"S": text}),
        },
        Value::Bool(_) => json!({"BOOL": value}),
        Value::Null | Value::Number(_) => json!({"NULL": true}),
    }
}

/// JSON with a string in place of each number: [`NUMBER`], and the text of the number.
fn quote_numbers(json: &str) -> String {
    let (mut quoted, mut rest) = (String::with_capacity(json.len().saturating_mul(2)), json);
    // What is between two strings has no quotes, and only numbers have digits.
    while !rest.is_empty() {
        let between = rest.find('"').unwrap_or(rest.len());
        let (outside, string) = rest.split_at(between);
        for part in outside.split_inclusive([',', ':', '[', ']', '{', '}']) {
            let number = part.trim_end_matches([',', ':', '[', ']', '{', '}']);
            if number.contains(|digit: char| digit.is_ascii_digit()) {
                quoted.push_str("\"\\u0000");
                quoted.push_str(number.trim());
                quoted.push('"');
                quoted.push_str(part.split_at(number.len()).1);
            } else {
                quoted.push_str(part);
            }
        }
        let (string, after) = string.split_at(end_of_string(string));
        quoted.push_str(string);
        rest = after;
    }
    quoted
}

/// The length of the string that `json` begins with; 0 at the end of the text.
fn end_of_string(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end.saturating_add(2))
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
    fn numbers_outside_of_strings_are_quoted() {
        let json = r#"{"a 1":[1,-2.50 , 3E-1],"b\"2":"4,\\",  "c": 5 ,"d":[],"e":{"f":true,"g":null}}"#;
        let value: Value = quote_numbers(json).parse().unwrap();
        let expected = json!({"a 1": ["\u{0}1", "\u{0}-2.50", "\u{0}3E-1"], "b\"2": "4,\\", "c": "\u{0}5", "d": [], "e": {"f": true, "g": null}});
        assert_eq!(value, expected);
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
