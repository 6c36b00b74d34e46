//! DynamoDB items: attributes, whole items as JSON, and many items that are read or deleted at
//! once.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use anyhow::Result;
use aws::cause::Cause;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, WriteRequest};
use futures_util::stream::{self, poll_fn, select_all};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::retry::{Waits, repeat};

use crate::error::{call_error, store_error};
use crate::output::{NOTE_INTERVAL, note};
use crate::stack::{Item, Stack, WRITE_TIMEOUT};

/// The string attribute `name` of `item`.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// The key of an item in a table that has no sort key.
pub(crate) fn partition_key(partition: String) -> Item {
    Item::from([("pk".to_owned(), AttributeValue::S(partition))])
}

/// The key of an item: its attributes `names`.
pub(crate) fn key(item: &Item, names: &[&str]) -> Item {
    names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone())))
        .collect()
}

/// An attribute as JSON. A number stays the text that DynamoDB sent: 38 digits do not fit into a
/// float.
pub(crate) struct Json<'a>(pub(crate) &'a AttributeValue);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => text.serialize(serializer),
            AttributeValue::N(number) => match RawValue::from_string(number.clone()) {
                Ok(number) => number.serialize(serializer),
                Err(_) => number.serialize(serializer),
            },
            AttributeValue::Bool(value) => value.serialize(serializer),
            AttributeValue::L(list) => serializer.collect_seq(list.iter().map(Json)),
            AttributeValue::M(map) => json_object(map, &[]).serialize(serializer),
            // This service never writes sets and bytes.
            _ => serializer.serialize_unit(),
        }
    }
}

/// The attributes of an item as a JSON object, sorted by name, all but those called `without`.
pub(crate) fn json_object<'a>(item: &'a Item, without: &[&str]) -> BTreeMap<&'a str, Json<'a>> {
    let attributes = item
        .iter()
        .filter(|(name, _)| !without.contains(&name.as_str()));
    attributes
        .map(|(name, value)| (name.as_str(), Json(value)))
        .collect()
}

/// A value for people: a string as it is, anything else as JSON.
pub(crate) fn display(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        other => serde_json::to_string(&Json(other)).unwrap_or_default(),
    }
}

/// The items that a query finds.
pub(crate) fn query_items(query: QueryFluentBuilder) -> impl Stream<Item = Result<Item>> {
    let table = query.get_table_name().clone().unwrap_or_default();
    let mut items = query.into_paginator().items().send();
    poll_fn(move |context| items.poll_next(context))
        .map(move |item| item.map_err(|error| call_error(&table, error)))
}

/// How many segments are read at once. One after the other, the pages of a large table take many
/// times as long.
const SEGMENTS: i32 = 8;

/// Hands each page of `table` to `take`, in no order. `with` completes the call, such as by a
/// filter.
pub(crate) async fn scan(
    stack: &Stack,
    table: &str,
    with: impl Fn(ScanFluentBuilder) -> ScanFluentBuilder,
    mut take: impl AsyncFnMut(ScanOutput) -> Result<()>,
) -> Result<()> {
    let segments = (0..SEGMENTS).map(|segment| {
        let scan = stack
            .client
            .scan()
            .table_name(table)
            .segment(segment)
            .total_segments(SEGMENTS);
        let mut pages = with(scan).into_paginator().send();
        poll_fn(move |context| pages.poll_next(context))
    });
    let (mut noted_at, mut count) = (Instant::now(), 0);
    let mut pages = select_all(segments);
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| call_error(table, error))?;
        count += page.scanned_count.unsigned_abs();
        take(page).await?;
        if noted_at.elapsed() >= NOTE_INTERVAL {
            note(&format!("Scanning all of {table}: {count} items read."));
            noted_at = Instant::now();
        }
    }
    Ok(())
}

/// The most items in one `BatchWriteItem`: DynamoDB's limit.
const BATCH_ITEMS: usize = 25;

/// The most calls at once.
const CONCURRENT_CALLS: usize = 8;

/// Deletes the items with these keys. An item that is already deleted is no error, so a caller may
/// run it again.
///
/// # Errors
/// DynamoDB failed: some items are deleted, some are not.
pub(crate) async fn batch_delete(client: &Client, table: &str, keys: &[Item]) -> Result<()> {
    let calls: Vec<_> = keys
        .chunks(BATCH_ITEMS)
        .map(|batch| delete_batch(client, table, batch))
        .collect();
    stream::iter(calls)
        .buffer_unordered(CONCURRENT_CALLS)
        .try_collect()
        .await
}

async fn delete_batch(client: &Client, table: &str, keys: &[Item]) -> Result<()> {
    let deletes = keys.iter().filter_map(|key| {
        let delete = DeleteRequest::builder()
            .set_key(Some(key.clone()))
            .build()
            .ok()?;
        Some(WriteRequest::builder().delete_request(delete).build())
    });
    let mut unprocessed = HashMap::from([(table.to_owned(), deletes.collect::<Vec<_>>())]);
    let deadline = Deadline::after(WRITE_TIMEOUT);
    let mut waits = Waits::default();
    loop {
        let call = || async {
            Ok(client
                .batch_write_item()
                .set_request_items(Some(unprocessed.clone()))
                .send()
                .await?)
        };
        let response = repeat(deadline, call)
            .await
            .map_err(|error| store_error(table, &error))?;
        unprocessed = response.unprocessed_items.unwrap_or_default();
        if unprocessed.values().all(Vec::is_empty) {
            return Ok(());
        }
        if !waits.wait(deadline).await {
            return Err(store_error(table, &Cause::Throttled.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_38_digits_is_written_exactly() {
        let digits = "12345678901234567890123456789012345678";
        let item = Item::from([
            ("n".to_owned(), AttributeValue::N(digits.to_owned())),
            (
                "a".to_owned(),
                AttributeValue::L(vec![
                    AttributeValue::Null(true),
                    AttributeValue::Bool(false),
                ]),
            ),
            ("pk".to_owned(), AttributeValue::S("x".to_owned())),
        ]);
        let json = serde_json::to_string(&json_object(&item, &["pk"])).unwrap();
        assert_eq!(json, format!(r#"{{"a":[null,false],"n":{digits}}}"#));
    }
}
