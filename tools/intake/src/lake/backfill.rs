//! `lake backfill`: writes what the tables have into the lake, as the delivery would have delivered it.
//!
//! A signal has the `id` that the delivery gives it. That of a customer is made from its fence: the same
//! profile has the same `id` in every run, and a changed one has another.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::customer::attributes::{FENCE, is_reserved};
use model::signal::SIGNAL_FIELDS;
use model::timestamp::Timestamp;
use operator::items::{Json, json_object, scan_table, text};
use serde::Serialize;
use serde_json::json;
use store::attributes::Item;

use super::{EVENTS, LakeArgs};
use crate::bucket::Bucket;
use crate::output::{Format, note};
use crate::stack::Stack;
use crate::stack::variables::{CUSTOMERS_TABLE, SIGNALS_TABLE};
use crate::time_args::time_or_age;

/// How many bytes of events are kept before they are written: a table may be larger than the memory.
const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;

#[derive(Args, Debug)]
pub(crate) struct Backfill {
    #[command(flatten)]
    lake: LakeArgs,

    /// Only signals that arrived, and customers that were updated, at or after this time, such as 7d
    /// (ago) or 2026-11-20 [default: all]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = time_or_age)]
    since: Timestamp,
}

impl Backfill {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let bucket = self.lake.find(stack).await?;
        let mut writer = LakeWriter::new(&bucket);
        let signals = self.write_table(stack, &SIGNALS, &mut writer).await?;
        let customers = self.write_table(stack, &CUSTOMERS, &mut writer).await?;
        writer.flush().await?;
        let LakeWriter {
            objects, skipped, ..
        } = writer;
        let lake = &bucket.name;
        let json =
            json!({"bucket": lake, "signals": signals, "customers": customers, "objects": objects});
        let text = format!(
            "Wrote {signals} signal(s) and {customers} customer(s) into {objects} object(s) of the lake {lake}."
        );
        // A reader that closes standard output does not change the exit code.
        let printed = format.print(&text, &json);
        ensure!(
            skipped == 0,
            "{skipped} item(s) are not as Intake writes them, and were left out."
        );
        printed
    }

    /// Writes the items of one table. Returns how many there are.
    async fn write_table(
        &self,
        stack: &Stack,
        source: &SourceTable,
        writer: &mut LakeWriter<'_>,
    ) -> Result<usize> {
        let since = AttributeValue::S(self.since.to_string());
        let select = |call: ScanFluentBuilder| {
            call.filter_expression("#time >= :since")
                .expression_attribute_names("#time", source.time)
                .expression_attribute_values(":since", since.clone())
        };
        let mut written = 0;
        let table_name = stack.table_name(source.variable)?;
        scan_table(&stack.dynamodb, table_name, note, select, async |page| {
            for item in page.items() {
                let Some(event) = (source.to_event)(item) else {
                    writer.skipped += 1;
                    continue;
                };
                writer.add(&event)?;
                written += 1;
            }
            writer.flush_if_full().await
        })
        .await?;
        Ok(written)
    }
}

/// A table whose items become events.
struct SourceTable {
    /// The variable that names it.
    variable: &'static str,
    /// The attribute that has the time of the event.
    time: &'static str,
    to_event: fn(&Item) -> Option<CloudEvent<'_>>,
}

const SIGNALS: SourceTable = SourceTable {
    variable: SIGNALS_TABLE,
    time: "receivedAt",
    to_event: signal_event,
};

const CUSTOMERS: SourceTable = SourceTable {
    variable: CUSTOMERS_TABLE,
    time: "updatedAt",
    to_event: customer_event,
};

/// A line of the lake: a CloudEvent, with the attributes of delivery/README.md, The envelope.
#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: String,
    source: String,
    #[serde(rename = "type")]
    event_type: &'a str,
    subject: &'a str,
    time: &'a str,
    datacontenttype: &'static str,
    data: EventData<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EventData<'a> {
    Signal(BTreeMap<&'a str, Json<'a>>),
    Customer { new: BTreeMap<&'a str, Json<'a>> },
}

impl<'a> CloudEvent<'a> {
    /// The day of the event: the partition of the lake's table.
    fn day(&self) -> &'a str {
        self.time.split('T').next().unwrap_or(self.time)
    }
}

/// The event of a signal. `None` when the item is not as the functions write it.
fn signal_event(item: &Item) -> Option<CloudEvent<'_>> {
    let (event_type, subject) = match (text(item, "eventType"), text(item, "customerId")) {
        (Some(event_type), Some(customer_id)) => (event_type, customer_id),
        _ => (text(item, "stepNodeId")?, text(item, "emitterId")?),
    };
    let mut data: BTreeMap<&str, Json<'_>> = SIGNAL_FIELDS
        .iter()
        .filter_map(|name| Some((*name, Json(item.get(*name)?))))
        .collect();
    if let Some(AttributeValue::M(undocumented)) = item.get("undocumented") {
        data.extend(json_object(undocumented, &[]));
    }
    let account = text(item, "accountId")?;
    Some(CloudEvent {
        specversion: "1.0",
        id: text(item, "sk")?.to_owned(),
        source: format!("/accounts/{account}/signals"),
        event_type,
        subject,
        time: text(item, "receivedAt")?,
        datacontenttype: "application/json",
        data: EventData::Signal(data),
    })
}

/// The event of a customer. `None` when the item is not as the functions write it.
fn customer_event(item: &Item) -> Option<CloudEvent<'_>> {
    let mut profile = json_object(item, &[]);
    profile.retain(|name, _| !is_reserved(name));
    let account = text(item, "accountId")?;
    let key = text(item, "pk")?;
    let fence = item.get(FENCE)?.as_n().ok()?;
    Some(CloudEvent {
        specversion: "1.0",
        id: format!("history#{key}#{fence}"),
        source: format!("/accounts/{account}/customers"),
        event_type: "intake.customer.created",
        subject: text(item, "customerId")?,
        time: text(item, "updatedAt")?,
        datacontenttype: "application/json",
        data: EventData::Customer { new: profile },
    })
}

/// Writes events into objects of the lake, those of each day into their own.
struct LakeWriter<'a> {
    bucket: &'a Bucket,
    /// What tells the objects of this run from those of another.
    run: String,
    /// The lines of each day. They are compressed when they are written: an encoder for each day would take more
    /// memory than its lines.
    days: BTreeMap<String, String>,
    kept_bytes: usize,
    /// How many objects were written.
    objects: usize,
    /// How many items are not as Intake writes them.
    skipped: usize,
}

impl<'a> LakeWriter<'a> {
    fn new(bucket: &'a Bucket) -> Self {
        let run = Timestamp::now().to_string().replace([':', '.'], "-");
        Self {
            bucket,
            run,
            days: BTreeMap::new(),
            kept_bytes: 0,
            objects: 0,
            skipped: 0,
        }
    }

    fn add(&mut self, event: &CloudEvent<'_>) -> Result<()> {
        let line = serde_json::to_string(event).context("An event cannot be written as JSON")?;
        let day = self.days.entry(event.day().to_owned()).or_default();
        day.push_str(&line);
        day.push('\n');
        self.kept_bytes += line.len();
        Ok(())
    }

    async fn flush_if_full(&mut self) -> Result<()> {
        if self.kept_bytes < MAX_KEPT_BYTES {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<()> {
        for (day, lines) in std::mem::take(&mut self.days) {
            let mut object = GzEncoder::new(Vec::new(), Compression::default());
            object.write_all(lines.as_bytes())?;
            let (run, number) = (&self.run, self.objects);
            let key = format!("{EVENTS}dt={day}/backfill-{run}-{number}.gz");
            self.bucket.put(&key, object.finish()?).await?;
            self.objects += 1;
        }
        self.kept_bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(attributes: &[(&str, AttributeValue)]) -> Item {
        attributes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    fn string(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    const TIME: &str = "2026-11-20T22:33:44.123Z";

    #[test]
    fn event_of_a_signal_has_what_the_client_sent_and_every_digit() {
        let number = AttributeValue::N("12345678901234567890123456789012345678".to_owned());
        let data = item(&[("price", number)]);
        let stored = item(&[
            ("pk", string("acme#c")),
            ("sk", string("t#r#0000")),
            ("accountId", string("acme")),
            ("customerId", string("c")),
            ("eventType", string("purchase")),
            ("data", AttributeValue::M(data)),
            (
                "undocumented",
                AttributeValue::M(item(&[("sessionId", string("s"))])),
            ),
            ("requestIdentifier", string("r")),
            ("receivedAt", string(TIME)),
        ]);
        let event = signal_event(&stored).unwrap();
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            r#"{"specversion":"1.0","id":"t#r#0000","source":"/accounts/acme/signals","type":"purchase","subject":"c","time":"2026-11-20T22:33:44.123Z","datacontenttype":"application/json","data":{"customerId":"c","data":{"price":12345678901234567890123456789012345678},"eventType":"purchase","sessionId":"s"}}"#
        );
        assert_eq!(event.day(), "2026-11-20");
    }

    #[test]
    fn event_of_a_customer_has_the_profile_alone_and_an_id_for_each_state() {
        let customer = |fence: &str| {
            item(&[
                ("pk", string("acme#c")),
                ("accountId", string("acme")),
                ("customerId", string("c")),
                ("createdAt", string(TIME)),
                ("updatedAt", string(TIME)),
                ("fence", AttributeValue::N(fence.to_owned())),
                ("fence:sk", AttributeValue::N("1".to_owned())),
                // Fields with the names of a signal's.
                ("sk", string("forged")),
                ("eventType", string("purchase")),
            ])
        };
        let (first, second) = (customer("1"), customer("2"));
        let event = customer_event(&first).unwrap();
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            r#"{"specversion":"1.0","id":"history#acme#c#1","source":"/accounts/acme/customers","type":"intake.customer.created","subject":"c","time":"2026-11-20T22:33:44.123Z","datacontenttype":"application/json","data":{"new":{"eventType":"purchase","sk":"forged"}}}"#
        );
        let changed = customer_event(&second).unwrap();
        assert_eq!(changed.id, "history#acme#c#2");
        assert!(signal_event(&first).is_none());
        assert!(customer_event(&item(&[])).is_none());
    }
}
