//! The calls to the EventBridge bus. This module must not know what is in a CloudEvent, or why one is
//! sent as a claim check.
//!
//! Sources: `PutEvents`, `PutEventsRequestEntry` and `PutEventsResultEntry` in the EventBridge API
//! reference; "Calculating `PutEvents` event entry size" in the EventBridge user guide.

use aws::deadline::Deadline;
use aws_config::SdkConfig;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;

use crate::cloud_event::CloudEvent;
use crate::send::{ItemResult, RefusedCall, SendOutcome, confirm, confirm_count, send_all};
use crate::stream_record::RecordPosition;
use crate::target_clients::call;

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
pub(crate) struct EventBus {
    client: Client,
    name: String,
}

/// An entry: a CloudEvent, or a claim check for it.
#[derive(Debug)]
pub(crate) struct BusEntry<'e> {
    /// The position of its record in the event.
    pub(crate) position: RecordPosition,
    pub(crate) cloud_event: &'e CloudEvent,
    /// What is sent in place of the CloudEvent.
    pub(crate) claim_check: Option<String>,
}

impl BusEntry<'_> {
    /// An entry with a claim check for the same CloudEvent, which is whole at `dataref`.
    pub(crate) fn as_claim_check(&self, dataref: &str) -> Self {
        Self {
            claim_check: Some(self.cloud_event.claim_check(dataref)),
            ..*self
        }
    }

    /// Whether a call can have it.
    pub(crate) fn fits(&self) -> bool {
        self.bytes() < MAX_CALL_BYTES
    }

    /// Its size, as EventBridge counts it.
    fn bytes(&self) -> usize {
        let detail_type = self.cloud_event.kind.detail_type();
        TIME_BYTES + SOURCE.len() + detail_type.len() + self.detail().len()
    }

    fn detail(&self) -> &str {
        self.claim_check.as_ref().unwrap_or(&self.cloud_event.json)
    }
}

impl EventBus {
    /// The bus with this name or ARN.
    pub(crate) fn new(config: &SdkConfig, name: String) -> Self {
        Self {
            client: Client::new(config),
            name,
        }
    }

    /// Sends entries in their order.
    pub(crate) async fn put<'i, 'e>(
        &self,
        entries: &'i [BusEntry<'e>],
        deadline: Deadline,
    ) -> SendOutcome<'i, BusEntry<'e>> {
        send_all(entries, entries_of_next_call, |entries_of_call| {
            self.put_in_one_call(entries_of_call, deadline)
        })
        .await
    }

    async fn put_in_one_call(
        &self,
        entries: &[BusEntry<'_>],
        deadline: Deadline,
    ) -> Result<(), RefusedCall> {
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
        let cloud_event = entry.cloud_event;
        // Exact, because a timestamp is before the year 10000.
        let time = DateTime::from_millis(cloud_event.time.millis().cast_signed());
        PutEventsRequestEntry::builder()
            .event_bus_name(&self.name)
            .source(SOURCE)
            .detail_type(cloud_event.kind.detail_type())
            .detail(entry.detail())
            .time(time)
            .build()
    }
}

/// How many of `entries` one call takes, at least one.
fn entries_of_next_call(entries: &[BusEntry<'_>]) -> usize {
    let mut call_bytes = 0;
    let mut count = 0;
    for entry in entries.iter().take(MAX_ENTRIES) {
        call_bytes += entry.bytes();
        if call_bytes >= MAX_CALL_BYTES {
            break;
        }
        count += 1;
    }
    count.max(1)
}
