//! `customers export`: everything that is stored of a customer or an emitter, as one JSON document.
//!
//! The document is written while the tables are read: a history may be longer than the memory.

use std::io::{BufWriter, Stdout, Write as _};

use anyhow::{Context as _, Result, ensure};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::profiles::{profile_json, stored};
use crate::item::{Item, json_object};
use crate::output::{Format, note, to_json};
use crate::rejected::RejectedTable;
use crate::scan::items;
use crate::stack::{REJECTED_SIGNALS, SIGNALS, Stack};

/// The attributes of a signal that only the tables need.
const KEY: [&str; 2] = ["pk", "sk"];

const CANNOT_WRITE: &str = "Cannot write to standard output";

pub(super) async fn export(stack: &Stack, account: &AccountId, id: &str, format: Format) -> Result<()> {
    let profile = stored(stack, account, id).await?;
    let query = stack.query(stack.table(SIGNALS)?, account.partition_key(id));
    let mut signals = Box::pin(items(query).peekable());
    let keys = RejectedTable::new(stack)?.keys_of(account, id).await?;
    ensure!(
        profile.is_some() || signals.as_mut().peek().await.is_some() || !keys.is_empty(),
        "Nothing is stored of {id:?} in the account {account}."
    );
    let table = stack.table(REJECTED_SIGNALS)?;
    // One may have expired since its key was read.
    let rejected = stream::iter(keys).then(|key| stack.get(table, key)).try_filter_map(async |item| Ok(item));
    // One line for programs, one line for each signal for people.
    let separator = if format == Format::Json { "" } else { "\n" };
    let mut document = Document { writer: BufWriter::new(std::io::stdout()), separator };
    let json = to_json(&profile.as_ref().map(profile_json))?;
    let (now, quoted) = (Timestamp::now(), to_json(&id)?);
    document.text(&format!(
        r#"{{"exportedAt":"{now}","accountId":"{account}","id":{quoted},"profile":{json},"signals":"#
    ))?;
    let signals = document.array(signals).await?;
    document.text(",\"rejectedSignals\":")?;
    let rejected = document.array(Box::pin(rejected)).await?;
    document.text("}\n")?;
    document.writer.flush().context(CANNOT_WRITE)?;
    let profiles = usize::from(profile.is_some());
    note(&format!(
        "Exported {id:?} of the account {account}: {profiles} profile(s), {signals} signal(s), {rejected} rejected signal(s)."
    ));
    Ok(())
}

/// A JSON document that is written part by part.
struct Document {
    writer: BufWriter<Stdout>,
    /// Before each element of an array.
    separator: &'static str,
}

impl Document {
    /// Writes these items as an array. Returns how many there are.
    async fn array(&mut self, mut items: impl Stream<Item = Result<Item>> + Unpin) -> Result<usize> {
        let mut count = 0;
        while let Some(item) = items.try_next().await? {
            let comma = if count == 0 { "[" } else { "," };
            self.text(&format!("{comma}{}{}", self.separator, to_json(&json_object(&item, &KEY))?))?;
            count += 1;
        }
        self.text(if count == 0 { "[]" } else { "]" })?;
        Ok(count)
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).context(CANNOT_WRITE)
    }
}
