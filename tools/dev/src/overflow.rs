//! The overflow queue of the stack, and what Lambda does between it and the function that drains it ("Using Lambda with Amazon SQS"
//! in the Lambda developer guide). Must not know what is in a message.

use std::time::Duration;

use anyhow::Result;
use emulator::Template;
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE, drained, event};

use crate::functions::Functions;

/// How often an empty queue is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a message that was received and not deleted is hidden. In template.yaml it is minutes; here a developer waits.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(5);

/// The variables of the queues: two that the template has, and the SDK's.
pub(crate) const VARIABLES: [&str; 3] = ["OVERFLOW_QUEUE_URL", "DEAD_LETTER_QUEUE_URL", "AWS_ENDPOINT_URL_SQS"];

/// The queue, in memory, until it is dropped.
pub(crate) struct Overflow {
    sqs: FakeSqs,
    /// The name of its function in the template.
    function: String,
    batch_size: usize,
}

impl Overflow {
    /// The queue of the function that the template has behind one; `None` if it has none.
    ///
    /// # Errors
    /// No port is free.
    pub(crate) async fn start(template: &Template) -> Result<Option<Self>> {
        let of =
            template.functions.iter().find_map(|function| Some((function.logical_id.clone(), function.batch_size?)));
        let Some((function, batch_size)) = of else { return Ok(None) };
        Ok(Some(Self { sqs: FakeSqs::start().await?, function, batch_size }))
    }

    /// What the functions and the operator need to find it.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let values = [OVERFLOW_QUEUE.to_owned(), DEAD_LETTER_QUEUE.to_owned(), self.sqs.endpoint()];
        VARIABLES.map(str::to_owned).into_iter().zip(values)
    }

    /// Has its function drain it until the runtime ends.
    pub(crate) fn drain(self, functions: Functions) {
        tokio::spawn(async move {
            loop {
                let messages = self.sqs.receive(self.batch_size, VISIBILITY_TIMEOUT);
                if messages.is_empty() {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    continue;
                }
                let returned = functions.invoke(&self.function, &event(&messages)).await.unwrap_or_default();
                for id in drained(&messages, &serde_json::from_slice(&returned).unwrap_or_default()) {
                    self.sqs.delete(id);
                }
            }
        });
    }
}
