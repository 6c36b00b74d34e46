//! The EventBridge bus. This module must not know what is in a CloudEvent.
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

use crate::clients::call;
use crate::send::{ItemResult, SendOutcome, Undelivered, confirm, confirm_count, send_all};

/// The `Source` that every entry has.
const SOURCE: &str = "intake";

/// The most entries that one call may have.
const MAX_ENTRIES: usize = 10;

/// All entries of one call together must be smaller than this, in bytes: "The total entry size must
/// be less than 256KB". AWS announced 1 MB on 29 January 2026; this is what every partition and
/// every target of a rule takes.
const MAX_CALL_BYTES: usize = 256_000;

/// The bytes that EventBridge counts for the time of an entry.
const TIME_BYTES: usize = 14;

/// The `EventBridge` bus that gets the CloudEvents.
#[derive(Debug)]
pub(crate) struct Bus {
    client: Client,
    name: String,
}

/// An entry. It borrows a CloudEvent that is whole, and owns a reference.
#[derive(Debug)]
pub(crate) struct BusEntry<'e> {
    pub(crate) detail_type: &'static str,
    pub(crate) time: Timestamp,
    pub(crate) detail: Cow<'e, str>,
}

/// The size of an entry, as EventBridge counts it.
fn entry_bytes(detail_type: &str, detail: &str) -> usize {
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

    /// Whether a call can have this CloudEvent.
    pub(crate) fn fits(detail_type: &str, detail: &str) -> bool {
        entry_bytes(detail_type, detail) < MAX_CALL_BYTES
    }

    /// Sends entries in their order.
    pub(crate) async fn put(&self, entries: &[BusEntry<'_>], deadline: Deadline) -> SendOutcome {
        send_all(entries, entries_of_next_call, |entries_of_call| {
            self.put_in_one_call(entries_of_call, deadline)
        })
        .await
    }

    async fn put_in_one_call(
        &self,
        entries: &[BusEntry<'_>],
        deadline: Deadline,
    ) -> Result<(), Undelivered> {
        let requested = entries
            .iter()
            .map(|entry| self.request_entry(entry))
            .collect();
        let sent = self.client.put_events().set_entries(Some(requested)).send();
        let output = call(sent, deadline).await?;
        let results = output.entries();
        confirm_count(entries.len(), results.len())?;
        let item_results = results
            .iter()
            .enumerate()
            .map(|(index, result)| ItemResult {
                index,
                id: result.event_id(),
                error_code: result.error_code(),
            });
        confirm(item_results)
    }

    /// An entry as `PutEvents` takes it.
    fn request_entry(&self, entry: &BusEntry<'_>) -> PutEventsRequestEntry {
        // Exact, because a timestamp is before the year 10000.
        let time = DateTime::from_millis(entry.time.millis().cast_signed());
        PutEventsRequestEntry::builder()
            .event_bus_name(&self.name)
            .source(SOURCE)
            .detail_type(entry.detail_type)
            .detail(entry.detail.as_ref())
            .time(time)
            .build()
    }
}

/// How many of `entries` one call takes, at least one.
fn entries_of_next_call(entries: &[BusEntry<'_>]) -> usize {
    let mut call_bytes = 0;
    let mut count = 0;
    for entry in entries.iter().take(MAX_ENTRIES) {
        call_bytes += entry_bytes(entry.detail_type, &entry.detail);
        if call_bytes >= MAX_CALL_BYTES {
            break;
        }
        count += 1;
    }
    count.max(1)
}
