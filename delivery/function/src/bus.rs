//! The EventBridge bus. Must not know what is in an event.
//!
//! Sources: `PutEvents`, `PutEventsRequestEntry` and `PutEventsResultEntry` in the EventBridge API
//! reference; "Calculating `PutEvents` event entry size" in the EventBridge user guide.

use std::borrow::Cow;

use aws::deadline::Deadline;
use aws_config::SdkConfig;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use model::timestamp::Timestamp;

use crate::clients::{Calls, Undelivered, call, confirm};

/// The `Source` that every entry has.
const SOURCE: &str = "intake";

/// The most entries that one call may have.
const MAX_ENTRIES: usize = 10;

/// The entries of one call together, in bytes, must be smaller: "The total entry size must be less
/// than 256KB". AWS announced 1 MB on 29 January 2026; this is what every partition and every
/// target of a rule takes.
const MAX_CALL_BYTES: usize = 256_000;

/// What the time of an entry counts, in bytes.
const TIME_BYTES: usize = 14;

/// The `EventBridge` bus that gets the events.
#[derive(Debug)]
pub(crate) struct Bus {
    client: Client,
    name: String,
}

/// An entry. It borrows an event that is whole, and owns a reference.
#[derive(Debug)]
pub(crate) struct Entry<'e> {
    pub(crate) detail_type: &'static str,
    pub(crate) time: Timestamp,
    pub(crate) detail: Cow<'e, str>,
}

/// The size of an entry, as EventBridge counts it.
fn bytes(detail_type: &str, detail: &str) -> usize {
    TIME_BYTES + SOURCE.len() + detail_type.len() + detail.len()
}

impl Bus {
    /// The bus with this name or ARN.
    pub(crate) fn new(config: &SdkConfig, name: String) -> Self {
        Self {
            client: Client::new(config),
            name,
        }
    }

    /// Whether a call can have this event.
    pub(crate) fn fits(detail_type: &str, detail: &str) -> bool {
        bytes(detail_type, detail) < MAX_CALL_BYTES
    }

    /// Sends entries in their order.
    pub(crate) async fn put<'e>(
        &self,
        entries: &'e [Entry<'e>],
        deadline: Deadline,
    ) -> Calls<'e, Entry<'e>> {
        Calls::make(entries, entries_of_next_call, |now| {
            self.call(now, deadline)
        })
        .await
    }

    async fn call(&self, entries: &[Entry<'_>], deadline: Deadline) -> Result<(), Undelivered> {
        let count = entries.len();
        let entries = entries.iter().map(
            |Entry {
                 detail_type,
                 time,
                 detail,
             }| {
                PutEventsRequestEntry::builder()
                    .event_bus_name(&self.name)
                    .source(SOURCE)
                    .detail_type(*detail_type)
                    .detail(detail.as_ref())
                    // Exact: a timestamp ends with the year 9999.
                    .time(DateTime::from_millis(time.millis().cast_signed()))
                    .build()
            },
        );
        let sent = self
            .client
            .put_events()
            .set_entries(Some(entries.collect()))
            .send();
        let results = call(sent, deadline).await?.entries.unwrap_or_default();
        confirm(
            0..count,
            results
                .iter()
                .map(|result| (result.event_id(), result.error_code())),
        )
    }
}

/// How many of `entries` one call takes, at least one.
fn entries_of_next_call(entries: &[Entry<'_>]) -> usize {
    let mut sum = 0;
    let fitting = entries.iter().take(MAX_ENTRIES).take_while(|entry| {
        sum += bytes(entry.detail_type, &entry.detail);
        sum < MAX_CALL_BYTES
    });
    fitting.count().max(1)
}
