//! What the sentence about a wrong value adds: the mistake that the client probably made
//! (docs/api.md, Field errors).
//!
//! This module must not decide what is wrong: a hint changes no code, and no value is repeated.

use memchr::memchr;

use crate::json::{RawString, Value};
use crate::pointer::JsonPointer;

const ONE_CUSTOMER: &str = ": send one customer in each request";

/// The hint about a value that should be an object.
pub(crate) fn of_no_object(value: Value<'_>) -> &'static str {
    if is_empty_array(value) {
        "; PHP writes an empty array as [], so write (object)[] there"
    } else {
        of_encoded_twice(value)
    }
}

/// The hint about a value that should be an array of signals.
pub(crate) fn of_no_array(value: Value<'_>) -> &'static str {
    if value.as_object(&JsonPointer::Root).is_some() {
        ", also around one signal"
    } else {
        of_encoded_twice(value)
    }
}

fn of_encoded_twice(value: Value<'_>) -> &'static str {
    let quoted = value.as_string().map_or("", RawString::quoted);
    if quoted.starts_with("\"{") || quoted.starts_with("\"[") {
        ", not a string: it seems to be encoded as JSON twice"
    } else {
        ""
    }
}

/// The hint about a body that is no object, and should be a batch of signals.
pub(crate) fn of_no_batch(body: Value<'_>) -> &'static str {
    if body.as_array().is_some() {
        ": send {\"signals\":[...]} around the array"
    } else {
        of_encoded_twice(body)
    }
}

/// The hint about a batch without `signals`. These fields say whose a signal is, and what it says.
pub(crate) fn of_no_signals(body: Value<'_>, identity_fields: &[&str]) -> &'static str {
    if has_any(body, &["customerData"]) {
        ": this is an update of a customer, not a batch of signals"
    } else if has_any(body, identity_fields) {
        ": send {\"signals\":[...]} around the signal"
    } else {
        ""
    }
}

/// The hint about a body that is no object, and should be an update of a customer.
pub(crate) fn of_no_update(body: Value<'_>) -> &'static str {
    if body.as_array().is_some() {
        ONE_CUSTOMER
    } else {
        of_encoded_twice(body)
    }
}

/// The hint about an update without a customerId.
pub(crate) fn of_no_customer(body: Value<'_>) -> &'static str {
    if has_any(body, &["signals"]) {
        ": this is a batch of signals, not an update of a customer"
    } else if has_any(body, &["customers"]) {
        ONE_CUSTOMER
    } else {
        ""
    }
}

/// The hint about an update without customerData, in which these fields would be.
pub(crate) fn of_no_profile(body: Value<'_>, profile_fields: &[&str]) -> &'static str {
    if has_any(body, profile_fields) {
        ": put the fields of the profile into it"
    } else {
        ""
    }
}

/// The hint about a JSON text that is too long. Its limit counts escapes as they were sent.
pub(crate) fn of_escapes(json: &str) -> &'static str {
    if memchr(b'\\', json.as_bytes()).is_some() {
        ", with each escape such as \\u00e9 as it was sent"
    } else {
        ""
    }
}

fn has_any(object: Value<'_>, names: &[&str]) -> bool {
    let mut fields = object.raw_fields();
    fields.any(|(name, _)| {
        name.decode()
            .is_ok_and(|name| names.contains(&name.as_ref()))
    })
}

fn is_empty_array(value: Value<'_>) -> bool {
    value
        .as_array()
        .is_some_and(|mut elements| elements.next().is_none())
}
