//! The event source mapping of the overflow queue, which on AWS is a part of Lambda ("Using Lambda
//! with Amazon SQS" in its developer guide): receives messages, invokes the function with them as
//! an event, and deletes those that the function has drained. This module must not know what is in
//! a message, nor how the function is invoked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::lambda_event::{drained_ids, event};
use super::{FakeSqs, QueueMessage};
use crate::template::SqsEventSource;

/// How often the queue is read while the function has fewer events than it may have at once.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The mapping between a queue and a function. `invoke` gives the function an event, and returns
/// its response, or null when there is none.
pub struct EventSourceMapping<F> {
    queue: Arc<FakeSqs>,
    invoke: F,
    source: SqsEventSource,
    visibility_timeout: Duration,
    is_retried_at_once: bool,
    is_drained_again: Box<dyn FnMut() -> bool + Send>,
    under_way: JoinSet<Invoked>,
}

/// A batch of messages with the response to their event.
struct Invoked {
    messages: Vec<QueueMessage>,
    response: Value,
}

/// How many messages of one event had which outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveredMessages {
    /// Drained, and deleted from the queue.
    pub deleted: u64,
    /// Drained, and left in the queue: the function gets them again.
    pub drained_again: u64,
    /// Not drained: the function gets them again.
    pub failed: u64,
}

impl<F, Response> EventSourceMapping<F>
where
    F: Fn(Value) -> Response,
    Response: Future<Output = Value> + Send + 'static,
{
    /// A mapping with the batch size and the concurrency of `source`. A message that the function
    /// did not drain is received again after `visibility_timeout`.
    pub fn new(
        queue: Arc<FakeSqs>,
        source: SqsEventSource,
        visibility_timeout: Duration,
        invoke: F,
    ) -> Self {
        Self {
            queue,
            invoke,
            source,
            visibility_timeout,
            is_retried_at_once: false,
            is_drained_again: Box::new(|| false),
            under_way: JoinSet::new(),
        }
    }

    /// A message that the function did not drain is received again at once.
    #[must_use]
    pub fn retry_at_once(mut self) -> Self {
        self.is_retried_at_once = true;
        self
    }

    /// A message that the function has drained is received again at once when `is_drained_again`
    /// says so: SQS delivers a message at least once, so it may deliver it twice.
    #[must_use]
    pub fn repeat_drained(
        mut self,
        is_drained_again: impl FnMut() -> bool + Send + 'static,
    ) -> Self {
        self.is_drained_again = Box::new(is_drained_again);
        self
    }

    /// Invokes the function with the messages that are visible, until one of the events has a
    /// response. Returns `None` when no message is visible and no event is under way.
    pub async fn deliver_next(&mut self) -> Option<DeliveredMessages> {
        loop {
            self.invoke_with_visible_messages();
            if self.under_way.is_empty() {
                return None;
            }
            tokio::select! {
                Some(invoked) = self.under_way.join_next() => {
                    let invoked = invoked.expect("only a defect of `invoke` panics");
                    return Some(self.settle(&invoked));
                }
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }

    fn invoke_with_visible_messages(&mut self) {
        while self.under_way.len() < self.source.max_concurrency {
            let batch_size = self.source.batch_size;
            let messages = self.queue.receive(batch_size, self.visibility_timeout);
            if messages.is_empty() {
                return;
            }
            let responding = (self.invoke)(event(&messages));
            self.under_way.spawn(async move {
                let response = responding.await;
                Invoked { messages, response }
            });
        }
    }

    /// Deletes the messages that the function has drained.
    fn settle(&mut self, invoked: &Invoked) -> DeliveredMessages {
        let drained = drained_ids(&invoked.messages, &invoked.response);
        let mut outcome = DeliveredMessages::default();
        for QueueMessage { id, .. } in &invoked.messages {
            if !drained.contains(&id.as_str()) {
                outcome.failed += 1;
                if self.is_retried_at_once {
                    self.queue.release(id);
                }
                continue;
            }
            let is_drained_again = (self.is_drained_again)();
            if is_drained_again {
                outcome.drained_again += 1;
                self.queue.release(id);
            } else {
                outcome.deleted += 1;
                self.queue.delete(id);
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::sqs::queues::Change;

    const SOURCE: SqsEventSource = SqsEventSource {
        batch_size: 2,
        max_concurrency: 1,
    };

    /// Longer than a test takes.
    const VISIBILITY_TIMEOUT: Duration = Duration::from_hours(1);

    async fn queue_with(bodies: &[&str]) -> Arc<FakeSqs> {
        let queue = FakeSqs::start().await.unwrap();
        for (number, body) in bodies.iter().enumerate() {
            queue.use_queues(|queues| {
                queues.change(Change::Sent {
                    id: number.to_string(),
                    body: (*body).to_owned(),
                    reason: None,
                    is_dead: false,
                });
            });
        }
        Arc::new(queue)
    }

    /// A function that drains all messages but those whose body is `bad`.
    async fn drain_all_but_bad(event: Value) -> Value {
        let records = event["Records"].as_array().unwrap();
        let failures: Vec<_> = records
            .iter()
            .filter(|record| record["body"] == "bad")
            .map(|record| json!({"itemIdentifier": record["messageId"]}))
            .collect();
        json!({"batchItemFailures": failures})
    }

    #[tokio::test]
    async fn messages_that_were_drained_are_deleted_and_the_others_stay_hidden() {
        let queue = queue_with(&["good", "bad", "good"]).await;
        let mut mapping =
            EventSourceMapping::new(queue.clone(), SOURCE, VISIBILITY_TIMEOUT, drain_all_but_bad);
        let first = mapping.deliver_next().await.unwrap();
        assert_eq!(
            first,
            DeliveredMessages {
                deleted: 1,
                failed: 1,
                drained_again: 0
            }
        );
        let second = mapping.deliver_next().await.unwrap();
        assert_eq!(second.deleted, 1);
        assert_eq!(mapping.deliver_next().await, None);
        assert_eq!(queue.remaining(), 1);
    }

    #[tokio::test]
    async fn message_without_a_response_is_retried_at_once_if_the_mapping_says_so() {
        let queue = queue_with(&["good"]).await;
        let responses = Mutex::new(vec![json!({"batchItemFailures": []}), Value::Null]);
        let invoke = move |_event| {
            let response = responses.lock().unwrap().pop().unwrap();
            async move { response }
        };
        let mapping = EventSourceMapping::new(queue.clone(), SOURCE, VISIBILITY_TIMEOUT, invoke);
        let mut mapping = mapping.retry_at_once();
        let first = mapping.deliver_next().await.unwrap();
        assert_eq!(first.failed, 1);
        let second = mapping.deliver_next().await.unwrap();
        assert_eq!(second.deleted, 1);
        assert_eq!(queue.remaining(), 0);
    }

    #[tokio::test]
    async fn drained_message_is_delivered_again_when_the_mapping_repeats_it() {
        let queue = queue_with(&["good"]).await;
        let mut repeats = vec![false, true];
        let mapping =
            EventSourceMapping::new(queue.clone(), SOURCE, VISIBILITY_TIMEOUT, drain_all_but_bad);
        let mut mapping = mapping.repeat_drained(move || repeats.pop().unwrap());
        let first = mapping.deliver_next().await.unwrap();
        assert_eq!(first.drained_again, 1);
        let second = mapping.deliver_next().await.unwrap();
        assert_eq!(second.deleted, 1);
    }

    #[tokio::test]
    async fn function_has_as_many_events_at_once_as_its_concurrency() {
        let queue = queue_with(&["good", "good", "good", "good"]).await;
        let source = SqsEventSource {
            batch_size: 1,
            max_concurrency: 3,
        };
        let started = Arc::new(Mutex::new(0_usize));
        let (release, released) = tokio::sync::watch::channel(false);
        let counter = started.clone();
        let invoke = move |event| {
            *counter.lock().unwrap() += 1;
            let mut released = released.clone();
            async move {
                released.wait_for(|released| *released).await.unwrap();
                drain_all_but_bad(event).await
            }
        };
        let mut mapping =
            EventSourceMapping::new(queue.clone(), source, VISIBILITY_TIMEOUT, invoke);
        mapping.invoke_with_visible_messages();
        assert_eq!(*started.lock().unwrap(), 3);
        release.send(true).unwrap();
        while mapping.deliver_next().await.is_some() {}
        assert_eq!(*started.lock().unwrap(), 4);
        assert_eq!(queue.remaining(), 0);
    }
}
