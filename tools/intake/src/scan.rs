//! Reads the pages of a query, or of the whole of a table, several segments of it at once.

use std::time::Instant;

use anyhow::Result;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use futures_util::stream::{poll_fn, select_all};
use futures_util::{Stream, StreamExt as _};

use crate::error::call_error;
use crate::item::Item;
use crate::output::{NOTE_INTERVAL, note};
use crate::stack::Stack;

/// The items that a query finds.
pub(crate) fn items(query: QueryFluentBuilder) -> impl Stream<Item = Result<Item>> {
    let table = query.get_table_name().clone().unwrap_or_default();
    let mut items = query.into_paginator().items().send();
    poll_fn(move |context| items.poll_next(context)).map(move |item| item.map_err(|error| call_error(&table, error)))
}

/// How many segments are read at once. One after the other, the pages of a large table take many times as long.
const SEGMENTS: i32 = 8;

/// Hands each page of `table` to `take`, in no order. `with` completes the call, such as by a filter.
pub(crate) async fn scan(
    stack: &Stack,
    table: &str,
    with: impl Fn(ScanFluentBuilder) -> ScanFluentBuilder,
    mut take: impl AsyncFnMut(ScanOutput) -> Result<()>,
) -> Result<()> {
    let segments = (0..SEGMENTS).map(|segment| {
        let scan = stack.client.scan().table_name(table).segment(segment).total_segments(SEGMENTS);
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
