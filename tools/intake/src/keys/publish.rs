//! `keys publish`: writes the key snapshot.

use anyhow::{Context as _, Result};
use serde_json::json;

use super::key_table::KeyTable;
use super::snapshot::{find_bucket, write_snapshot};
use crate::output::Format;

pub(super) async fn publish(key_table: &KeyTable<'_>, format: Format) -> Result<()> {
    let bucket =
        find_bucket(key_table.stack).context("This stack has no bucket for a key snapshot.")?;
    let written = write_snapshot(&bucket, key_table).await;
    // The revocations that this may have written to the table need no second publication: if the first
    // one failed, the command ends with its error.
    key_table.skip_publication();
    let count = written?;
    format.print(
        &format!("Published {count} key(s)."),
        &json!({"published": count}),
    )
}
