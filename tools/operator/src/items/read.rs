//! Reads items: one by its key, a partition by a query, or a whole table by a scan. Must not know what
//! is in them.

use std::time::Instant;

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{poll_fn, select_all};
use futures_util::{Stream, StreamExt as _};
use store::attributes::Item;

use crate::error::call_error;
use crate::{NOTE_INTERVAL, Note};

/// How many segments of a table are read at once. One after the other, the pages of a large table
/// take many times as long.
const SEGMENTS: i32 = 8;

/// Reads the item with this key, consistently.
///
/// # Errors
/// DynamoDB failed.
pub async fn get_item(client: &Client, table_name: &str, key: Item) -> Result<Option<Item>> {
    let response = client
        .get_item()
        .table_name(table_name)
        .set_key(Some(key))
        .consistent_read(true)
        .send()
        .await
        .map_err(|error| call_error(table_name, error))?;
    Ok(response.item)
}

/// A consistent query for the items of one partition of a table.
pub fn partition_query(client: &Client, table_name: &str, partition: String) -> QueryFluentBuilder {
    client
        .query()
        .table_name(table_name)
        .key_condition_expression("pk = :pk")
        .expression_attribute_values(":pk", AttributeValue::S(partition))
        .consistent_read(true)
}

/// The items that a query finds.
pub fn query_items(query: QueryFluentBuilder) -> impl Stream<Item = Result<Item>> {
    let table_name = query.get_table_name().clone().unwrap_or_default();
    let mut items = query.into_paginator().items().send();
    poll_fn(move |context| items.poll_next(context))
        .map(move |item| item.map_err(|error| call_error(&table_name, error)))
}

/// Reads the whole of the table `table_name` and hands each page to `take`, in no order. `configure` completes the
/// call, such as by a filter. How far it is goes to `note`.
///
/// # Errors
/// DynamoDB failed, or `take` did.
pub async fn scan_table(
    client: &Client,
    table_name: &str,
    note: Note,
    configure: impl Fn(ScanFluentBuilder) -> ScanFluentBuilder,
    mut take: impl AsyncFnMut(ScanOutput) -> Result<()>,
) -> Result<()> {
    let segments = (0..SEGMENTS).map(|segment| {
        let call = client
            .scan()
            .table_name(table_name)
            .segment(segment)
            .total_segments(SEGMENTS);
        let mut pages = configure(call).into_paginator().send();
        poll_fn(move |context| pages.poll_next(context))
    });
    let mut pages = select_all(segments);
    let mut items_read = 0;
    let mut noted_at = Instant::now();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| call_error(table_name, error))?;
        items_read += page.scanned_count.unsigned_abs();
        take(page).await?;
        if noted_at.elapsed() >= NOTE_INTERVAL {
            note(&format!(
                "Scanning all of {table_name}: {items_read} items read."
            ));
            noted_at = Instant::now();
        }
    }
    Ok(())
}
