//! `customers export`: everything that is stored of a customer or an emitter, as one JSON document.
//!
//! The document is written while the tables are read: a history may be longer than the memory.

use std::io::{BufWriter, Stdout, Write as _};

use anyhow::{Context as _, Result};
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::INTERNAL;
use super::show::find;
use crate::error::call_error;
use crate::item::{Item, json_object};
use crate::output::{Format, note, to_json};
use crate::rejected::RejectedTable;
use crate::stack::{REJECTED_SIGNALS, SIGNALS, Stack};

/// The attributes of a signal that only the tables need.
const KEY: [&str; 2] = ["pk", "sk"];

pub(super) async fn export(stack: &Stack, account: &AccountId, id: &str, format: Format) -> Result<()> {
    // One line for programs, one line for each signal for people.
    let separator = if format == Format::Json { "" } else { "\n" };
    let mut document = Document { writer: BufWriter::new(std::io::stdout()), separator };
    let profile = find(stack, account, id).await?;
    let profile_json = to_json(&profile.as_ref().map(|profile| json_object(profile, &INTERNAL)))?;
    let (now, quoted) = (Timestamp::now(), to_json(&id)?);
    document.text(&format!(
        r#"{{"exportedAt":"{now}","accountId":"{account}","id":{quoted},"profile":{profile_json},"signals":["#
    ))?;
    let signals = document.signals(stack, account, id).await?;
    document.text("],\"rejectedSignals\":[")?;
    let rejected = document.rejected_signals(stack, account, id).await?;
    document.text("]}\n")?;
    document.writer.flush().context("Cannot write to standard output")?;
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
    async fn signals(&mut self, stack: &Stack, account: &AccountId, id: &str) -> Result<usize> {
        let table = stack.table(SIGNALS)?;
        let mut items = stack.query(table, account.partition_key(id)).into_paginator().items().send();
        let mut count = 0;
        while let Some(item) = items.next().await {
            self.element(&item.map_err(|error| call_error(table, error))?, &mut count)?;
        }
        Ok(count)
    }

    async fn rejected_signals(&mut self, stack: &Stack, account: &AccountId, id: &str) -> Result<usize> {
        let table = stack.table(REJECTED_SIGNALS)?;
        let mut count = 0;
        for key in RejectedTable::new(stack)?.keys_of(account, id).await? {
            let get = stack.client.get_item().table_name(table).set_key(Some(key)).consistent_read(true);
            // It may have expired since its key was read.
            if let Some(item) = get.send().await.map_err(|error| call_error(table, error))?.item {
                self.element(&item, &mut count)?;
            }
        }
        Ok(count)
    }

    /// Writes an element of an array that has `count` elements so far.
    fn element(&mut self, item: &Item, count: &mut usize) -> Result<()> {
        self.text(if *count == 0 { "" } else { "," })?;
        self.text(self.separator)?;
        *count += 1;
        self.text(&to_json(&json_object(item, &KEY))?)
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).context("Cannot write to standard output")
    }
}
