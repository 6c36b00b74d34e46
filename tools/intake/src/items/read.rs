//! Reads many items: by a query, or by a scan of a whole table. Must not know what is in them.

use std::time::Instant;

use anyhow::Result;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use futures_util::stream::{poll_fn, select_all};
use futures_util::{Stream, StreamExt as _};
use store::attributes::Item;

use crate::error::call_error;
use crate::output::{NOTE_INTERVAL, note};
use crate::stack::Stack;

/// How many segments of a table are read at once. One after the other, the pages of a large table
/// take many times as long.
const SEGMENTS: i32 = 8;

/// The items that a query finds.
pub(crate) fn query_items(query: QueryFluentBuilder) -> impl Stream<Item = Result<Item>> {
    let table = query.get_table_name().clone().unwrap_or_default();
    let mut items = query.into_paginator().items().send();
    poll_fn(move |context| items.poll_next(context))
        .map(move |item| item.map_err(|error| call_error(&table, error)))
}

/// Reads the whole of `table` and hands each page to `take`, in no order. `configure` completes the
/// call, such as by a filter.
pub(crate) async fn scan(
    stack: &Stack,
    table: &str,
    configure: impl Fn(ScanFluentBuilder) -> ScanFluentBuilder,
    mut take: impl AsyncFnMut(ScanOutput) -> Result<()>,
) -> Result<()> {
    let segments = (0..SEGMENTS).map(|segment| {
        let call = stack
            .client
            .scan()
            .table_name(table)
            .segment(segment)
            .total_segments(SEGMENTS);
        let mut pages = configure(call).into_paginator().send();
        poll_fn(move |context| pages.poll_next(context))
    });
    let mut pages = select_all(segments);
    let mut items_read = 0;
    let mut noted_at = Instant::now();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| call_error(table, error))?;
        items_read += page.scanned_count.unsigned_abs();
        take(page).await?;
        if noted_at.elapsed() >= NOTE_INTERVAL {
            note(&format!(
                "Scanning all of {table}: {items_read} items read."
            ));
            noted_at = Instant::now();
        }
    }
    Ok(())
}
