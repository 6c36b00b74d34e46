//! CBOR as CloudWatch speaks it, from and to JSON. A time is the number of its seconds.

use aws_smithy_cbor::data::Type;
use aws_smithy_cbor::{Decoder, Encoder};
use serde_json::{Map, Value, json};

pub(crate) fn to_cbor(value: &Value) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    write(&mut encoder, value);
    encoder.into_writer()
}

fn write(encoder: &mut Encoder, value: &Value) {
    match value {
        Value::Null => encoder.null(),
        Value::Bool(value) => encoder.boolean(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => encoder.long(whole),
            None => encoder.double(number.as_f64().unwrap()),
        },
        Value::String(text) => encoder.str(text),
        Value::Array(values) => {
            encoder.array(values.len());
            for value in values {
                write(encoder, value);
            }
            encoder
        }
        Value::Object(members) => {
            encoder.map(members.len());
            for (name, value) in members {
                encoder.str(name);
                write(encoder, value);
            }
            encoder
        }
    };
}

pub(crate) fn from_cbor(bytes: &[u8]) -> Value {
    read(&mut Decoder::new(bytes))
}

fn read(decoder: &mut Decoder<'_>) -> Value {
    match decoder.datatype().unwrap() {
        Type::Map | Type::MapIndef => {
            let length = decoder.map().unwrap();
            let mut members = Map::new();
            while has_next(decoder, length, members.len()) {
                let name = decoder.string().unwrap();
                members.insert(name, read(decoder));
            }
            Value::Object(members)
        }
        Type::Array | Type::ArrayIndef => {
            let length = decoder.list().unwrap();
            let mut values = Vec::new();
            while has_next(decoder, length, values.len()) {
                values.push(read(decoder));
            }
            Value::Array(values)
        }
        Type::String | Type::StringIndef => json!(decoder.string().unwrap()),
        Type::Tag => json!(decoder.timestamp().unwrap().secs()),
        Type::F16 | Type::F32 | Type::F64 => json!(decoder.double().unwrap()),
        Type::Bool => json!(decoder.boolean().unwrap()),
        Type::Null => {
            decoder.null().unwrap();
            Value::Null
        }
        _ => json!(decoder.long().unwrap()),
    }
}

/// Whether a list or map with this length, if it says one, has more than what was read. The end of one
/// that says none is read.
fn has_next(decoder: &mut Decoder<'_>, length: Option<u64>, read: usize) -> bool {
    if let Some(length) = length {
        return u64::try_from(read).unwrap() < length;
    }
    let is_end = decoder.datatype().unwrap() == Type::Break;
    if is_end {
        decoder.skip().unwrap();
    }
    !is_end
}
