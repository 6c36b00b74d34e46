//! The calls of SQS's API: their parameters, within SQS's limits, and their responses.

use std::time::Instant;

use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::queues::{MAX_BYTES, Queues};

/// The URL of the overflow queue.
pub const OVERFLOW_QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/overflow";

/// The URL of its dead-letter queue.
pub const DEAD_LETTER_QUEUE: &str =
    "https://sqs.eu-central-1.amazonaws.com/000000000000/dead-letters";

/// An error of SQS. The server makes a response of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SqsError {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: &'static str,
}

impl SqsError {
    const INTERNAL: Self = Self {
        status: 500,
        code: "InternalError",
        message: "",
    };

    const UNKNOWN_QUEUE: Self = Self {
        status: 400,
        code: "NonExistentQueue",
        message: "The specified queue does not exist.",
    };

    /// The call breaks a rule of SQS.
    const fn invalid(code: &'static str) -> Self {
        Self {
            status: 400,
            code,
            message: "",
        }
    }
}

/// The ARN of the queue with this URL.
pub fn arn(url: &str) -> String {
    format!(
        "arn:aws:sqs:eu-central-1:000000000000:{}",
        url.rsplit('/').next().unwrap_or_default()
    )
}

impl Queues {
    /// The body of the response to a call.
    pub(super) fn respond(&mut self, operation: &str, call: Value) -> Result<Value, SqsError> {
        if operation == "SendMessage" {
            return self.send(&call);
        }
        let response = match operation {
            "GetQueueAttributes" => self.attributes(&call),
            "StartMessageMoveTask" => self
                .redrive()
                .map(|()| json!({"TaskHandle": "handle"}))
                .map_err(|_| SqsError::INTERNAL),
            _ => Err(SqsError::invalid("UnsupportedOperation")),
        };
        // The call of a message that was sent is not recorded: its queue has the message.
        self.calls.push((operation.to_owned(), call));
        response
    }

    fn send(&mut self, call: &Value) -> Result<Value, SqsError> {
        let body = call["MessageBody"].as_str().unwrap_or_default();
        let bytes = body.len() + attribute_bytes(&call["MessageAttributes"]);
        if bytes > MAX_BYTES || !body.chars().all(is_allowed) {
            return Err(SqsError::invalid("InvalidMessageContents"));
        }
        let group = call["MessageGroupId"].as_str();
        if group.is_some_and(|group| !is_message_group_id(group)) {
            return Err(SqsError::invalid("InvalidParameterValue"));
        }
        let is_dead = is_dead_letter_queue(call)?;
        let reason = call.pointer("/MessageAttributes/reason/StringValue");
        let added = self.add(body, reason.and_then(Value::as_str), is_dead);
        // Such as on a full disk.
        let id = added.map_err(|_| SqsError::INTERNAL)?;
        let body_md5 = HEXLOWER.encode(&Md5::digest(body));
        Ok(json!({"MessageId": id.to_string(), "MD5OfMessageBody": body_md5}))
    }

    /// The attributes that a call names, as SQS writes them.
    fn attributes(&mut self, call: &Value) -> Result<Value, SqsError> {
        if call["AttributeNames"] == json!(["QueueArn"]) {
            let url = call["QueueUrl"].as_str().unwrap_or_default();
            return Ok(json!({"Attributes": {"QueueArn": arn(url)}}));
        }
        let is_dead = is_dead_letter_queue(call)?;
        let [waiting, in_flight, delayed] = self.counts(is_dead)?;
        Ok(json!({"Attributes": {
            "ApproximateNumberOfMessages": waiting.to_string(),
            "ApproximateNumberOfMessagesNotVisible": in_flight.to_string(),
            "ApproximateNumberOfMessagesDelayed": delayed.to_string(),
        }}))
    }

    /// Messages of a queue that wait, are in flight and are delayed, or what a test says.
    fn counts(&mut self, is_dead: bool) -> Result<[u64; 3], SqsError> {
        let of_test = if is_dead {
            &mut self.dead_letter_counts
        } else {
            &mut self.overflow_counts
        };
        let said = if of_test.len() > 1 {
            of_test.pop_front()
        } else {
            of_test.front().copied()
        };
        if let Some(counts) = said {
            return Ok(counts);
        }
        let counts = self.waiting_and_in_flight(is_dead, Instant::now());
        let [waiting, in_flight] = counts.map_err(|_| SqsError::INTERNAL)?;
        Ok([waiting, in_flight, 0])
    }
}

/// Whether a call is about the dead-letter queue.
fn is_dead_letter_queue(call: &Value) -> Result<bool, SqsError> {
    match call["QueueUrl"].as_str().unwrap_or_default() {
        OVERFLOW_QUEUE => Ok(false),
        DEAD_LETTER_QUEUE => Ok(true),
        _ => Err(SqsError::UNKNOWN_QUEUE),
    }
}

/// Whether a text is within SQS's limits of a `MessageGroupId`.
fn is_message_group_id(text: &str) -> bool {
    matches!(text.len(), 1..=128) && text.chars().all(|c| c.is_ascii_graphic())
}

/// What the attributes of a message add to its size: their names, types and values.
fn attribute_bytes(attributes: &Value) -> usize {
    let text_bytes = |value: &Value| value.as_str().unwrap_or_default().len();
    let attributes = attributes.as_object().into_iter().flatten();
    attributes
        .map(|(name, value)| {
            name.len() + text_bytes(&value["DataType"]) + text_bytes(&value["StringValue"])
        })
        .sum()
}

/// Whether a message may have this character (`SendMessage` in the SQS API reference).
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
