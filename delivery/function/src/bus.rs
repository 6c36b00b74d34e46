//! The EventBridge bus. Must not know what is in an event.
//!
//! Sources: `PutEvents`, `PutEventsRequestEntry` and `PutEventsResultEntry` in the EventBridge API reference; "Calculating
//! `PutEvents` event entry size" in the EventBridge user guide.

use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use model::deadline::Deadline;
use model::timestamp::Timestamp;
use service::config::ConfigError;
use std::borrow::Cow;
use store::error;

use crate::clients::{Cause, Undelivered, call, config};

/// `Source` of every entry.
const SOURCE: &str = "intake";

/// Entries of one call.
const MAX_ENTRIES: usize = 10;

/// The entries of one call together, in bytes, must be smaller: "The total entry size must be less than 256KB". AWS announced
/// 1 MB on 29 January 2026; this is what every partition and every target of a rule takes.
const MAX_CALL_BYTES: usize = 256_000;

/// What the time of an entry counts, in bytes.
const TIME_BYTES: usize = 14;

/// The bus.
#[derive(Debug)]
pub(crate) struct Bus {
    client: Client,
    name: String,
}

/// An entry. It borrows an event that is whole, and owns a pointer.
#[derive(Debug)]
pub(crate) struct Entry<'e> {
    pub(crate) detail_type: &'static str,
    pub(crate) time: Timestamp,
    pub(crate) detail: Cow<'e, str>,
}

impl Entry<'_> {
    /// Whether it is a pointer to the event.
    pub(crate) fn is_pointer(&self) -> bool {
        matches!(self.detail, Cow::Owned(_))
    }
}

/// The size of an entry, as EventBridge counts it.
fn bytes(detail_type: &str, detail: &str) -> usize {
    TIME_BYTES + SOURCE.len() + detail_type.len() + detail.len()
}

impl Bus {
    /// The bus with this name or ARN.
    pub(crate) fn from_environment(name: String) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(&config()?), name })
    }

    /// Whether a call can have this event.
    pub(crate) fn fits(detail_type: &str, detail: &str) -> bool {
        bytes(detail_type, detail) < MAX_CALL_BYTES
    }

    /// Sends entries in their order, call by call, until one is not taken.
    pub(crate) async fn put(&self, entries: &[Entry<'_>], deadline: Deadline) -> Result<(), Undelivered> {
        let mut rest = entries;
        while !rest.is_empty() {
            let first = entries.len() - rest.len();
            let (now, later) = rest.split_at(entries_of_next_call(rest));
            self.call(now, deadline)
                .await
                .map_err(|Undelivered { position, cause }| Undelivered { position: first + position, cause })?;
            rest = later;
        }
        Ok(())
    }

    async fn call(&self, entries: &[Entry<'_>], deadline: Deadline) -> Result<(), Undelivered> {
        let entries = entries.iter().map(|Entry { detail_type, time, detail }| {
            PutEventsRequestEntry::builder()
                .event_bus_name(&self.name)
                .source(SOURCE)
                .detail_type(*detail_type)
                .detail(detail.as_ref())
                .time(DateTime::from_millis(i64::try_from(time.millis()).unwrap_or(i64::MAX)))
                .build()
        });
        let sent = self.client.put_events().set_entries(Some(entries.collect())).send();
        let output = call(sent, deadline).await.map_err(|cause| Undelivered { position: 0, cause })?;
        let codes = output.entries().iter().map(|entry| entry.error_code()).enumerate();
        let failed = codes.into_iter().find_map(|(position, code)| Some((position, Cause::of_code(code?))));
        match failed {
            None if output.failed_entry_count() == 0 => Ok(()),
            None => Err(Undelivered { position: 0, cause: error::Cause::ResponseError.into() }),
            Some((position, cause)) => Err(Undelivered { position, cause }),
        }
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
