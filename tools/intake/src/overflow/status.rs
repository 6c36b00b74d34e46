//! `overflow status`.

use anyhow::Result;
use serde_json::json;

use super::queues::Queues;
use crate::output::{Format, Table, print_json};

pub(super) async fn status(queues: &Queues<'_>, format: Format) -> Result<()> {
    let mut table = Table::with_heading(["QUEUE", "WAITING", "IN FLIGHT", "DELAYED"]);
    for (queue, counts) in ["overflow", "dead-letter"].into_iter().zip(queues.counts().await?) {
        let (waiting, in_flight, delayed) = (counts.waiting, counts.in_flight, counts.delayed);
        if format == Format::Json {
            print_json(&json!({"queue": queue, "waiting": waiting, "inFlight": in_flight, "delayed": delayed}))?;
        } else {
            table.row([queue, &waiting.to_string(), &in_flight.to_string(), &delayed.to_string()]);
        }
    }
    if format == Format::Table { table.print() } else { Ok(()) }
}
