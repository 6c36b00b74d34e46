//! A service of AWS whose clock is an hour ahead of this process. It takes each call whose signature
//! is not too old by its own clock, and does nothing.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::http_server::{HttpServer, Service, response};

/// How far its clock is ahead.
const AHEAD: Duration = Duration::from_hours(1);

/// How old a signature may be ("Elements of an AWS API request signature", IAM user guide).
const MAX_AGE: Duration = Duration::from_mins(5);

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct ServiceAhead(HttpServer<SignatureCheck>);

#[derive(Debug, Default)]
struct SignatureCheck {
    /// Whether the signature of each call was new enough.
    are_in_time: Mutex<Vec<bool>>,
}

impl ServiceAhead {
    /// Starts a service that was not called.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        let server = HttpServer::start(SignatureCheck::default(), None).await?;
        Ok(Self(server))
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Takes the calls so far: whether the signature of each was new enough.
    pub fn take_calls(&self) -> Vec<bool> {
        self.0.service.use_calls(std::mem::take)
    }
}

impl SignatureCheck {
    fn use_calls<T>(&self, work: impl FnOnce(&mut Vec<bool>) -> T) -> T {
        let mut calls = self
            .are_in_time
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        work(&mut calls)
    }
}

impl Service for SignatureCheck {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let now = Timestamp::now().plus(AHEAD);
        let header = |name: &str| request.headers()[name].to_str().unwrap();
        let is_in_time = signing_time(header("x-amz-date")).plus(MAX_AGE) > now;
        self.use_calls(|calls| calls.push(is_in_time));
        let date = DateTime::from_secs(i64::try_from(now.seconds()).unwrap());
        let date = date.fmt(DateTimeFormat::HttpDate).unwrap();
        let headers = [("date", date.as_str())];
        if is_in_time {
            let body = success(header("x-amz-target"));
            response(200, &headers, body.to_string())
        } else {
            let message =
                "Signature expired: 20261120T221640Z is now earlier than 20261120T222140Z";
            let body = json!({"__type": "InvalidSignatureException", "message": message});
            response(400, &headers, body.to_string())
        }
    }
}

/// The time of an `x-amz-date` such as `20261120T221640Z`.
fn signing_time(text: &str) -> Timestamp {
    let part = |place: Range<usize>| text.get(place).unwrap();
    let [year, month, day] = [part(0..4), part(4..6), part(6..8)];
    let [hour, minute, second] = [part(9..11), part(11..13), part(13..15)];
    let time = format!("{year}-{month}-{day}T{hour}:{minute}:{second}.000Z");
    time.parse().unwrap()
}

/// The answer of a service that did the call.
fn success(operation: &str) -> Value {
    match operation {
        "AWSEvents.PutEvents" => json!({"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]}),
        "Firehose_20150804.PutRecordBatch" => {
            json!({"FailedPutCount": 0, "RequestResponses": [{"RecordId": "1"}]})
        }
        // The MD5 of the text "m".
        "AmazonSQS.SendMessage" => {
            json!({"MessageId": "1", "MD5OfMessageBody": "6f8f57715090da2632453988d9a1501b"})
        }
        _ => json!({}),
    }
}
