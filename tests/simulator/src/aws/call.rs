//! What a call asks for. This module must not know what becomes of it.

use std::collections::BTreeSet;
use std::fmt;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::Value;

/// A service of AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    DynamoDb,
    Sqs,
    S3,
}

/// A call of an environment.
#[derive(Clone, Debug)]
pub struct Call {
    pub service: Service,
    pub operation: String,
    /// The table, the queue, or the path of the object.
    pub target: String,
    /// The body. Its objects are in the order of their names, unlike those that the SDK wrote.
    pub body: Value,
}

impl Call {
    /// Reads a request of the SDK, or of the module that reads objects of S3.
    ///
    /// # Panics
    /// When it is none of them: then the simulation lacks a service.
    pub(super) fn read(request: &HttpRequest) -> Self {
        let body = request.body().bytes().unwrap_or_default();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let Some(target) = request.headers().get("x-amz-target") else {
            let uri: lambda_http::http::Uri = request.uri().parse().expect("a URI of a client");
            return Self {
                service: Service::S3,
                operation: request.method().to_owned(),
                target: uri.path().to_owned(),
                body,
            };
        };
        let (service, operation) = target.split_once('.').expect("a target has a dot");
        let service = match service {
            "DynamoDB_20120810" => Service::DynamoDb,
            "AmazonSQS" => Service::Sqs,
            other => panic!("the simulation has no {other}"),
        };
        Self {
            service,
            operation: operation.to_owned(),
            target: target_of(&body),
            body,
        }
    }

    /// Whether a part of its text is this.
    pub fn mentions(&self, text: &str) -> bool {
        self.body.to_string().contains(text)
    }
}

fn target_of(body: &Value) -> String {
    let named = body["TableName"].as_str().or(body["QueueUrl"].as_str());
    let of_batch = || {
        body["RequestItems"]
            .as_object()?
            .keys()
            .next()
            .map(String::as_str)
    };
    named.or_else(of_batch).unwrap_or_default().to_owned()
}

/// One line: the operation, its target, and whose items it is about.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            target,
            body,
            ..
        } = self;
        write!(f, "{operation} {target}")?;
        for key in ["Key", "Item"] {
            for name in ["keyHash", "pk"] {
                if let Some(key) = body[key][name]["S"].as_str() {
                    write!(f, " {key}")?;
                }
            }
        }
        if let Some(condition) = body["ConditionExpression"].as_str() {
            write!(f, ", if {condition:.90}")?;
        }
        let values = &body["ExpressionAttributeValues"];
        for name in [":fence", ":fieldFence"] {
            if let Some(fence) = values[name]["N"].as_str() {
                write!(f, ", {name} {fence}")?;
            }
        }
        let batch = body["RequestItems"][target].as_array();
        if let Some(items) = batch {
            write!(f, ", {} items", items.len())?;
        }
        for number in request_numbers(&body.to_string()) {
            write!(f, ", request {number};")?;
        }
        Ok(())
    }
}

/// The numbers of the clients' requests in a text: each signal has that of its request in its data.
fn request_numbers(text: &str) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    for after in text.split("request").skip(1) {
        let after = after.trim_start_matches(|c: char| "\\\":{N".contains(c));
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        numbers.extend(
            after
                .get(..length)
                .and_then(|number| number.parse::<u64>().ok()),
        );
    }
    numbers
}
