//! Reads items: one by its key, a partition by a query, or a whole table by a scan. Must not know what
//! is in them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{select_all, try_unfold};
use futures_util::{Stream, StreamExt as _};
use store::attributes::Item;

use crate::error::call_error;
use crate::read_retries::{RETRY_TIMEOUT, retry_read};
use crate::{NOTE_INTERVAL, Note};

/// How many segments of a table are read at once. One after the other, the pages of a large table
/// take many times as long.
const SEGMENTS: i32 = 8;

/// Reads the item with this key, consistently. While DynamoDB throttles the read or fails, it waits, for
/// minutes or as long as a call of `client` may take, and says so by `note`.
///
/// # Errors
/// DynamoDB failed.
pub async fn get_item(
    client: &Client,
    table_name: &str,
    key: Item,
    note: Note,
) -> Result<Option<Item>> {
    let call = client
        .get_item()
        .table_name(table_name)
        .set_key(Some(key))
        .consistent_read(true);
    let table = format!("Table {table_name}");
    let timeout = retry_timeout_of(client);
    let response = retry_read(&table, note, timeout, || call.clone().send()).await;
    let response = response.map_err(|error| call_error(table_name, error))?;
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

/// Where a read goes on.
enum Position {
    Start,
    /// After the item with this key.
    After(Item),
    End,
}

impl Position {
    /// The position after a page.
    fn after(last_key: Option<Item>) -> Self {
        match last_key {
            Some(key) if !key.is_empty() => Self::After(key),
            _ => Self::End,
        }
    }

    /// The key to start after.
    fn key(self) -> Option<Item> {
        match self {
            Self::After(key) => Some(key),
            Self::Start | Self::End => None,
        }
    }
}

/// A query on its way: the items of the last page that are left, and what follows them.
struct QueryProgress {
    items: VecDeque<Item>,
    next: Position,
}

/// The items that a query finds. While DynamoDB throttles it or fails, it waits, for minutes or as long as a
/// call of `client` may take, says so by `note`, and goes on from the last page.
pub fn query_items(
    client: &Client,
    query: QueryFluentBuilder,
    note: Note,
) -> impl Stream<Item = Result<Item>> + Unpin {
    let timeout = retry_timeout_of(client);
    let start = QueryProgress {
        items: VecDeque::new(),
        next: Position::Start,
    };
    let items = try_unfold(start, move |mut progress| {
        let query = query.clone();
        async move {
            while progress.items.is_empty() {
                if matches!(progress.next, Position::End) {
                    return Ok(None);
                }
                let key = progress.next.key();
                let page = query_page(&query, key, note, timeout).await?;
                progress.items = page.items.unwrap_or_default().into();
                progress.next = Position::after(page.last_evaluated_key);
            }
            let item = progress.items.pop_front();
            Ok(item.map(|item| (item, progress)))
        }
    });
    Box::pin(items)
}

async fn query_page(
    query: &QueryFluentBuilder,
    key: Option<Item>,
    note: Note,
    timeout: Duration,
) -> Result<QueryOutput> {
    let table_name = query.get_table_name().clone().unwrap_or_default();
    let table = format!("Table {table_name}");
    let call = query.clone().set_exclusive_start_key(key);
    let page = retry_read(&table, note, timeout, || call.clone().send()).await;
    page.map_err(|error| call_error(&table_name, error))
}

/// Reads the whole of the table `table_name` and hands each page to `take`, in no order. `configure` completes the
/// call, such as by a filter. How far it is goes to `note`. While DynamoDB throttles it or fails, each segment
/// of the table waits, for minutes or as long as a call of `client` may take, and goes on from its last page.
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
    let timeout = retry_timeout_of(client);
    let segments = (0..SEGMENTS).map(|segment| {
        let call = client
            .scan()
            .table_name(table_name)
            .segment(segment)
            .total_segments(SEGMENTS);
        let pages = scan_pages(configure(call), table_name, note, timeout);
        Box::pin(pages)
    });
    let mut pages = select_all(segments);
    let mut items_read = 0;
    let mut noted_at = Instant::now();
    while let Some(page) = pages.next().await {
        let page = page?;
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

/// How long a read waits: no longer than a call of `client` may take, if that is limited.
fn retry_timeout_of(client: &Client) -> Duration {
    let timeouts = client.config().timeout_config();
    timeouts
        .and_then(TimeoutConfig::operation_timeout)
        .unwrap_or(RETRY_TIMEOUT)
}

/// The pages of one segment.
fn scan_pages(
    call: ScanFluentBuilder,
    table_name: &str,
    note: Note,
    timeout: Duration,
) -> impl Stream<Item = Result<ScanOutput>> {
    try_unfold(Position::Start, move |position| {
        let call = call.clone();
        async move {
            if matches!(position, Position::End) {
                return Ok(None);
            }
            let call = call.set_exclusive_start_key(position.key());
            let table = format!("Table {table_name}");
            let page = retry_read(&table, note, timeout, || call.clone().send()).await;
            let page = page.map_err(|error| call_error(table_name, error))?;
            let next = Position::after(page.last_evaluated_key.clone());
            Ok(Some((page, next)))
        }
    })
}
