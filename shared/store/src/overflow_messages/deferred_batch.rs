//! A message of the overflow queue with signals of one request: the valid signals as they were
//! sent, the rejected signals as they are stored, and all that a drain needs to write the same
//! items as the request would have written.

use std::borrow::Cow;
use std::time::Duration;

use model::account::AccountId;
use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

use super::format::{BATCH, MessageError, VERSION, json, message};
use crate::batch_context::BatchContext;
use crate::batch_pipeline::UnstoredSignals;
use crate::idempotency::RequestHashes;
use crate::rejected_signals::RejectedSignalItem;

/// The largest message, in bytes. SQS takes 1 MiB with all attributes ("Amazon SQS message quotas" in
/// the SQS developer guide).
const MAX_MESSAGE_BYTES: usize = 1024 * 1024 - MAX_ATTRIBUTE_BYTES;

/// Room for the attributes that a message gets when it becomes a dead letter.
const MAX_ATTRIBUTE_BYTES: usize = 256;

/// A message with signals of one request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeferredBatch<'a> {
    version: u32,
    pub account_id: Cow<'a, AccountId>,
    /// The API key, for the operator.
    pub key_id: Cow<'a, str>,
    /// The client's requestIdentifier, or the generated one.
    request_identifier: Cow<'a, str>,
    /// Whether there is to be an idempotency record: see [`Batch::needs_record`].
    pub needs_record: bool,
    /// When the request was received; of a retry, when it was first received. The time in the
    /// items' keys.
    pub received_at: Timestamp,
    /// When the signals expire, in seconds since 1970.
    pub expires_at: Option<u64>,
    #[serde(flatten)]
    pub hashes: Cow<'a, RequestHashes>,
    /// The signals that DynamoDB did not acknowledge.
    #[serde(borrow)]
    pub signals: Vec<DeferredSignal<'a>>,
    /// Rejected signals of the request, as items. The drain sets when they expire.
    pub rejected: Vec<RejectedSignalItem<'a>>,
}

/// A signal with its place in the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeferredSignal<'a> {
    /// Its index in the request.
    pub index: usize,
    /// Its text, as it was sent.
    #[serde(borrow)]
    pub text: Cow<'a, str>,
}

/// The messages for the unstored signals of `batch`, valid and rejected ones, as JSON.
pub fn batch_messages<'a>(
    batch: &'a Batch<'a>,
    hashes: &'a RequestHashes,
    context: BatchContext<'a>,
    expires_at: Option<Timestamp>,
    unstored: &UnstoredSignals,
) -> Vec<String> {
    let mut messages = MessagesBuilder::new(DeferredBatch {
        version: VERSION,
        account_id: Cow::Borrowed(context.account_id),
        key_id: context.key_id.into(),
        request_identifier: context.request_identifier.as_sent().into(),
        needs_record: batch.needs_record(),
        received_at: context.first_received_at,
        expires_at: expires_at.map(Timestamp::seconds),
        hashes: Cow::Borrowed(hashes),
        signals: Vec::new(),
        rejected: Vec::new(),
    });
    for signal in batch
        .signals
        .iter()
        .filter(|signal| unstored.signals.contains_key(&signal.index()))
    {
        let signal = DeferredSignal {
            index: signal.index(),
            text: signal.payload().into(),
        };
        messages.message_for(&signal).signals.push(signal);
    }
    for rejected in batch
        .rejected
        .iter()
        .filter(|rejected| unstored.rejected.contains_key(&rejected.index))
    {
        let rejected = RejectedSignalItem::new(context, rejected, context.first_received_at);
        messages.message_for(&rejected).rejected.push(rejected);
    }
    messages.finish()
}

impl DeferredBatch<'_> {
    /// How long after its arrival each signal expires, to the second.
    pub fn retention(&self) -> Option<Duration> {
        Some(Duration::from_secs(
            self.expires_at?.saturating_sub(self.received_at.seconds()),
        ))
    }

    /// The requestIdentifier.
    ///
    /// # Errors
    /// [`MessageError::Unreadable`] when it is not a UUID.
    pub fn request_identifier(&self) -> Result<RequestIdentifier, MessageError> {
        RequestIdentifier::parse(self.request_identifier.as_ref()).ok_or(MessageError::Unreadable)
    }
}

/// Builds the messages of a batch: signals are added to the last one until it is full.
struct MessagesBuilder<'a> {
    full: Vec<String>,
    last: DeferredBatch<'a>,
    /// The length of a message without signals.
    overhead: usize,
    /// The length of the last message.
    bytes: usize,
}

impl<'a> MessagesBuilder<'a> {
    fn new(empty: DeferredBatch<'a>) -> Self {
        let overhead = message(BATCH, &empty).len();
        Self {
            full: Vec::new(),
            last: empty,
            overhead,
            bytes: overhead,
        }
    }

    /// The message that has room for this signal. The largest signal fits into a message of its
    /// own.
    fn message_for(&mut self, signal: &impl Serialize) -> &mut DeferredBatch<'a> {
        let length = json(signal).len() + ",".len();
        if self.bytes + length > MAX_MESSAGE_BYTES && self.bytes > self.overhead {
            self.full.push(message(BATCH, &self.last));
            self.last.signals.clear();
            self.last.rejected.clear();
            self.bytes = self.overhead;
        }
        self.bytes += length;
        &mut self.last
    }

    fn finish(mut self) -> Vec<String> {
        self.full.push(message(BATCH, &self.last));
        self.full
    }
}

#[cfg(test)]
mod tests {
    use aws::call_error::CallError;
    use model::json::JsonText;
    use model::signal::Signal;

    use super::*;
    use crate::error::{StoreError, UnstoredReason};
    use crate::overflow_messages::Deferred;

    const NOW: Timestamp = Timestamp::from_millis(1_795_213_000_009);

    /// The messages of a batch with this body.
    fn messages_of(body: &str) -> Vec<String> {
        let batch = Batch::parse(JsonText::parse(body).unwrap()).unwrap();
        let request_identifier = RequestIdentifier::random();
        let account = "shop".parse().unwrap();
        let context = BatchContext {
            account_id: &account,
            key_id: "",
            request_identifier: &request_identifier,
            first_received_at: NOW,
            request_id: "",
        };
        batch_messages(
            &batch,
            &RequestHashes::new(body, &batch),
            context,
            None,
            &all_of(&batch),
        )
    }

    fn all_of(batch: &Batch<'_>) -> UnstoredSignals {
        let reason = UnstoredReason::Store(StoreError::from(CallError::Throttled));
        let with_reason = |index| (index, reason.clone());
        let signals = batch.signals.iter().map(Signal::index);
        let rejected = batch.rejected.iter().map(|signal| signal.index);
        UnstoredSignals {
            signals: signals.map(with_reason).collect(),
            rejected: rejected.map(with_reason).collect(),
        }
    }

    fn read_batch(message: &str) -> DeferredBatch<'_> {
        let Ok(Deferred::Batch(batch)) = Deferred::parse(message) else {
            panic!("{message}")
        };
        batch
    }

    #[test]
    fn text_of_a_signal_survives_with_every_character() {
        let text = "{\"customerId\":\"\u{fffe}\u{ffff}\u{1f600}\",\"eventType\":\"t\",\n\t\"data\":{\"quote\\\"\":\"\u{7f}\"}}";
        let messages = messages_of(&format!("{{\"signals\":[{text}]}}"));
        assert!(
            messages
                .iter()
                .all(|message| !message.contains(['\u{fffe}', '\u{ffff}', '\n', '\t']))
        );
        let message = read_batch(&messages[0]);
        assert_eq!(
            (message.signals[0].index, message.signals[0].text.as_ref()),
            (0, text)
        );
    }

    #[test]
    fn rejected_signal_is_cut_as_it_would_be_stored_and_fits_a_message() {
        // Each quotation mark is four bytes in the message, with the backslash that the client sent
        // before it.
        let longest = "\\\"".repeat(200 * 1024);
        let body =
            format!("{{\"signals\":[{{\"customerId\":\"c\",\"eventType\":\"{longest}\"}},17]}}");
        let messages = messages_of(&body);
        assert!(
            messages
                .iter()
                .all(|message| message.len() <= MAX_MESSAGE_BYTES)
        );
        let rejected: Vec<_> = messages
            .iter()
            .flat_map(|message| read_batch(message).rejected)
            .collect();
        let stored: Vec<_> = rejected
            .iter()
            .map(|item| (item.index, item.payload.len(), item.truncated))
            .collect();
        assert_eq!(stored, [(0, 300 * 1024, true), (1, 2, false)]);
        assert_eq!(rejected[1].errors.len(), 1);
    }

    #[test]
    fn message_of_a_batch_is_that_of_the_sample_event() {
        let body = "{\"requestIdentifier\":\"5F1A3C7E-0b44-4f5e-9d3a-7c2f5b1e8a90\",\"signals\":[\
            {\"customerId\":\"c-overflow\",\"eventType\":\"purchase\",\"data\":{\"price\":12.50,\"brand\":\"\u{fffe}\\\"é\"}},\
            {\"customerId\":\"c-overflow\",\"eventType\":\"stored\"},\
            {\"emitterId\":\"e-overflow\",\"stepNodeId\":\"n1\",\"data\":null,\
            \"eventflowIdentifier\":\"8f14e45f-ceea-467f-a0e6-5b2c4f0d7f11\"}]}";
        let batch = Batch::parse(JsonText::parse(body).unwrap()).unwrap();
        let context = BatchContext {
            account_id: &"acme".parse().unwrap(),
            key_id: "key_0123456789ab",
            request_identifier: batch.request_identifier.as_ref().unwrap(),
            first_received_at: NOW,
            request_id: "",
        };
        let hashes = RequestHashes::new(body, &batch);
        let mut unstored = all_of(&batch);
        unstored.signals.remove(&1);
        let messages = batch_messages(&batch, &hashes, context, None, &unstored);
        let event: serde_json::Value =
            serde_json::from_str(include_str!("../../../../events/overflow/event.json")).unwrap();
        let sample = event["Records"][0]["body"].as_str().unwrap();
        assert_eq!(messages, [sample]);
        let message = read_batch(sample);
        assert_eq!(
            message
                .signals
                .iter()
                .map(|signal| signal.index)
                .collect::<Vec<_>>(),
            [0, 2]
        );
    }
}
