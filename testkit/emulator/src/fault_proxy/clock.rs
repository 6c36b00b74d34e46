//! A service whose clock is ahead of this process.

use std::time::{Duration, SystemTime};

use hyper::Request;
use hyper::body::Bytes;

/// How old a signature may be ("Elements of an AWS API request signature", IAM user guide).
const MAX_AGE: Duration = Duration::from_mins(5);

/// Whether the signature of a call is too old by a clock that says `now`.
pub(super) fn is_signature_too_old(call: &Request<Bytes>, now: SystemTime) -> bool {
    let header = call.headers().get("x-amz-date");
    let date = header.and_then(|date| date.to_str().ok());
    let Some(oldest) = now.checked_sub(MAX_AGE) else {
        return true;
    };
    // The times of signatures are in the order of their texts.
    date.is_none_or(|date| date < amz_date(oldest).as_str())
}

/// A time as signatures have it, such as `20261120T221640Z`.
fn amz_date(time: SystemTime) -> String {
    let date = httpdate::HttpDate::from(time).to_string();
    // Such as `Fri, 20 Nov 2026 22:16:40 GMT`.
    let parts: Vec<_> = date.split(' ').collect();
    let [_, day, month, year, clock, _] = parts.as_slice() else {
        return date;
    };
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = months.iter().position(|name| name == month);
    let month = month.map_or(0, |index| index + 1);
    format!("{year}{month:02}{day}T{}Z", clock.replace(':', ""))
}
