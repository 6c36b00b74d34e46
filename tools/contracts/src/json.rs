//! JSON as contracts and signals have it. It is not read as a `Value` by `serde_json` itself, which
//! keeps one of two members with the same name in silence, and takes an object with a name of its own
//! for something else. Must not know what a value means.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What becomes of two members with the same name in an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubled {
    /// The last one counts.
    Last,
    Refused,
}

/// Reads JSON in which no object has a name twice. A byte order mark before it is passed over.
pub(crate) fn read_schema(text: &[u8]) -> serde_json::Result<Value> {
    read(
        text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text),
        Doubled::Refused,
    )
}

/// Reads the data of a signal. Of two members with the same name, which no stored signal has, the
/// last one counts.
pub(crate) fn read_data(text: &str) -> serde_json::Result<Value> {
    read(text.as_bytes(), Doubled::Last)
}

fn read(text: &[u8], doubled: Doubled) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Json { doubled }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads one value.
#[derive(Clone, Copy)]
struct Json {
    doubled: Doubled,
}

impl<'de> DeserializeSeed<'de> for Json {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if self.doubled == Doubled::Refused && object.contains_key(&name) {
                return Err(A::Error::custom(format!("{name:?} is twice in an object")));
            }
            let value = members.next_value_seed(self)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
