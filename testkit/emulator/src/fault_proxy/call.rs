//! Which service and which operation a request is for.

use hyper::body::Bytes;
use hyper::{Method, Request};

/// A service of AWS whose calls may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AwsService {
    DynamoDb,
    Sqs,
    S3,
    /// Another one that names the operation in a header, such as EventBridge.
    Other,
}

impl AwsService {
    /// The service that a request is for.
    pub(super) fn of(call: &Request<Bytes>) -> Self {
        // S3 has no such header.
        let Some(target) = call.headers().get("x-amz-target") else {
            return Self::S3;
        };
        if target.as_bytes().starts_with(b"DynamoDB_") {
            Self::DynamoDb
        } else if target.as_bytes().starts_with(b"AmazonSQS.") {
            Self::Sqs
        } else {
            Self::Other
        }
    }
}

/// What is called, such as `PutItem`; empty for what no test calls.
pub(super) fn operation(call: &Request<Bytes>) -> &str {
    let Some(target) = call.headers().get("x-amz-target") else {
        return operation_of_s3(call);
    };
    let target = target.to_str().unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default()
}

fn operation_of_s3(call: &Request<Bytes>) -> &'static str {
    let query = call.uri().query().unwrap_or_default();
    let has = |name: &str| {
        let mut names = query.split('&').map(|pair| pair.split('=').next());
        names.any(|other| other == Some(name))
    };
    match *call.method() {
        Method::GET if has("list-type") => "ListObjectsV2",
        Method::GET if has("tagging") => "GetObjectTagging",
        Method::GET => "GetObject",
        Method::HEAD => "HeadObject",
        Method::PUT => "PutObject",
        _ => "",
    }
}
