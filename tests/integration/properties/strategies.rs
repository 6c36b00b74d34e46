//! Random JSON texts: with every escape, every form of number, white space anywhere, and sometimes
//! an invalid value. Most signals are valid, so that few batches are rejected whole.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// White space between tokens.
fn space() -> impl Strategy<Value = String> {
    prop_oneof![9 => Just(String::new()), 1 => "[ \t\n\r]{1,3}"]
}

/// A number in any form.
pub(crate) fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,4})?",
        2 => "-?(0|[1-9][0-9]{0,36})(\\.[0-9]{1,12})?",
        2 => "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?[eE][+-]?[0-9]{1,3}",
        1 => "-?[1-9](0{30,140})(\\.0{0,60})?",
        1 => "-?0\\.0{0,140}[1-9]{0,39}",
        1 => select(vec![
            "0e999", "-0", "-0.0", "1E-130", "9e-131", "9.9999999999999999999999999999999999999e125", "1e126", "10e124",
            "12345678901234567890123456789012345678", "123456789012345678901234567890123456789", "1e99999999999999999999",
        ]).prop_map(str::to_owned),
    ]
}

/// A string with its quotes. One piece in a hundred is an unpaired surrogate.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        60 => "[ !#-\\[\\]-~]{1,6}",
        15 => "[^\"\\\\\u{0}-\u{1f}]{1,3}",
        10 => select(vec!["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"]).prop_map(str::to_owned),
        8 => "\\\\u00[0-7][0-9a-fA-F]",
        6 => select(vec!["\\ud83d\\uDE00", "\\uFFFF", "\\u0000", "\u{2028}", "😀"]).prop_map(str::to_owned),
        1 => select(vec!["\\ud800", "\\uDC00", "\\ude00\\ud83d"]).prop_map(str::to_owned),
    ];
    vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// The name of a field, of so few names that duplicates occur.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        30 => "\"[a-p]{1,2}\"",
        20 => "\"[a-zA-Z_.#:/~-]{3,12}\"",
        5 => string(),
        1 => Just("\"price\"".to_owned()),
    ]
}

/// An object with these values.
fn object_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (space(), name(), space(), space(), value, space());
    let member = member.prop_map(|(a, name, b, c, value, d)| format!("{a}{name}{b}:{c}{value}{d}"));
    vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")))
}

/// Any value.
pub(crate) fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        1 => select(vec!["null", "true", "false", "[]", "{}", "[[[]]]", "\"\""]).prop_map(str::to_owned),
        2 => number(),
        2 => string(),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let array = (space(), vec((inner.clone(), space()), 0..5));
        let array = array.prop_map(|(space, elements)| {
            let elements: Vec<_> = elements
                .into_iter()
                .map(|(element, space)| format!("{space}{element}{space}"))
                .collect();
            format!("[{space}{}]", elements.join(","))
        });
        prop_oneof![array, object_of(inner)]
    })
}

/// Any object, sometimes a very deep one, or null.
fn data() -> impl Strategy<Value = String> {
    let deep = (28_usize..34)
        .prop_map(|depth| format!("{{\"deep\":{}1{}}}", "[".repeat(depth), "]".repeat(depth)));
    prop_oneof![12 => object_of(value()), 1 => Just("null".to_owned()), 1 => deep]
}

/// An identifier with its quotes, sometimes an invalid one.
fn identifier() -> impl Strategy<Value = String> {
    prop_oneof![
        40 => "\"[a-z0-9-]{1,12}\"",
        8 => string(),
        1 => "\"[äé😀]{250,260}\"",
        1 => select(vec!["\"null\"", "\"NaN\"", "\" \"", "\"\\u2003\"", "null", "17", "[\"a\"]"]).prop_map(str::to_owned),
    ]
}

fn uuid() -> impl Strategy<Value = String> {
    prop_oneof![
        30 => "\"[0-9a-f]{8}-[0-9a-f]{4}-[0-9A-F]{4}-[0-9a-f]{4}-[0-9a-f]{12}\"",
        1 => select(vec!["null", "\"\"", "\"3fa85f6457174562b3fc2c963f66afa6\"", "{}"]).prop_map(str::to_owned),
    ]
}

/// A signal, sometimes another value.
pub(crate) fn signal() -> impl Strategy<Value = String> {
    let extra = || prop_oneof![4 => Just(String::new()), 1 => (name(), value()).prop_map(|(n, v)| format!(",{n}:{v}"))];
    let event = (identifier(), identifier(), data(), extra(), space()).prop_map(
        |(id, what, data, extra, space)| {
            format!(
                "{{{space}\"customerId\":{id},\"eventType\":{what}{extra},\"data\":{data}{space}}}"
            )
        },
    );
    let step = (identifier(), identifier(), uuid(), data(), extra()).prop_map(|(id, what, flow, data, extra)| {
        format!("{{\"data\":{data},\"emitterId\":{id},\"stepNodeId\":{what},\"eventflowIdentifier\":{flow}{extra}}}")
    });
    prop_oneof![10 => event, 8 => step, 1 => value()]
}

/// The signals of a request, and the request.
pub(crate) fn batch() -> impl Strategy<Value = (Vec<String>, String)> {
    (
        vec(signal(), 1..30),
        prop_oneof![3 => Just(None), 1 => uuid().prop_map(Some)],
    )
        .prop_map(|(signals, identifier)| {
            let identifier =
                identifier.map(|identifier| format!("\"requestIdentifier\":{identifier},"));
            let request = format!(
                "{{{}\"signals\":[{}]}}",
                identifier.unwrap_or_default(),
                signals.join(" ,\n")
            );
            (signals, request)
        })
}

/// An update of the customer with this identifier: the profile, and the request.
pub(crate) fn customer(id: &'static str) -> impl Strategy<Value = (String, String)> {
    let known = (
        select(model::customer::PROFILE_FIELDS.to_vec()),
        prop_oneof![5 => string(), 1 => Just("null".to_owned())],
    );
    let known = known.prop_map(|(name, value)| format!("\"{name}\":{value}"));
    let unknown = (name(), value()).prop_map(|(name, value)| format!("{name}:{value}"));
    vec(prop_oneof![2 => known, 1 => unknown], 0..6).prop_map(move |members| {
        let profile = format!("{{{}}}", members.join(","));
        let request = format!("{{\"customerId\":\"{id}\",\"customerData\":{profile}}}");
        (profile, request)
    })
}
