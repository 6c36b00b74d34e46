//! Which signals of a request the overflow queue took: the response says only how many. Knows the
//! members of a message that it reads.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use tokio::sync::mpsc;

/// Requests whose deferred signals are remembered until their responses come.
const MAX_REQUESTS: usize = 1_000;

/// Which signals the queue took, until the response to their request.
pub(crate) struct DeferredSignals(
    Mutex<(mpsc::UnboundedReceiver<String>, VecDeque<DeferredBatch>)>,
);

/// What a message says of the signals in it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeferredBatch {
    account_id: String,
    request_identifier: String,
    signals: Vec<DeferredSignal>,
}

#[derive(Deserialize)]
struct DeferredSignal {
    index: usize,
}

impl DeferredSignals {
    /// Those of the messages that come here when the queue has taken them.
    pub(crate) fn of(messages: mpsc::UnboundedReceiver<String>) -> Self {
        Self(Mutex::new((messages, VecDeque::new())))
    }

    /// The indexes of the signals of this request that the queue took, and forgets them.
    pub(crate) fn take(
        &self,
        account: Option<&str>,
        request_identifier: Option<&str>,
    ) -> Vec<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (sent, batches) = &mut *state;
        while let Ok(message) = sent.try_recv() {
            // The update of a customer is another message.
            batches.extend(serde_json::from_str::<DeferredBatch>(&message));
        }
        batches.drain(..batches.len().saturating_sub(MAX_REQUESTS));
        let (of_request, others) = batches.drain(..).partition::<Vec<_>, _>(|batch| {
            Some(&*batch.account_id) == account
                && Some(&*batch.request_identifier) == request_identifier
        });
        batches.extend(others);
        of_request
            .iter()
            .flat_map(|batch| &batch.signals)
            .map(|signal| signal.index)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::DeferredSignals;

    #[test]
    fn signals_of_a_request_are_those_of_its_messages() {
        let (sender, messages) = mpsc::unbounded_channel();
        let deferred = DeferredSignals::of(messages);
        for (account, id, indexes) in [
            ("a", "1", [0, 2]),
            ("b", "1", [5, 6]),
            ("a", "2", [7, 8]),
            ("a", "1", [3, 4]),
        ] {
            let signals = indexes.map(|index| json!({"index": index, "text": "{}"}));
            let message = json!({"accountId": account, "requestIdentifier": id, "signals": signals, "version": 1});
            sender.send(message.to_string()).unwrap();
        }
        sender.send("unreadable".to_owned()).unwrap();
        assert_eq!(deferred.take(Some("a"), Some("1")), [0, 2, 3, 4]);
        assert!(deferred.take(Some("a"), Some("1")).is_empty());
        assert_eq!(deferred.take(Some("b"), Some("1")), [5, 6]);
    }
}
