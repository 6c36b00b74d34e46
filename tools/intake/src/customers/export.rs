//! `customers export`: everything that is stored of a customer or an emitter, as one JSON document.
//!
//! The document is written while the tables are read: a history may be longer than the memory.

use std::io::{BufWriter, Stdout, Write as _};

use anyhow::{Context as _, Result, ensure};
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::profiles::{profile_json, stored};
use crate::error::call_error;
use crate::item::{Item, json_object};
use crate::output::{Format, note, to_json};
use crate::rejected::RejectedTable;
use crate::stack::{REJECTED_SIGNALS, SIGNALS, Stack};

/// The attributes of a signal that only the tables need.
const KEY: [&str; 2] = ["pk", "sk"];

pub(super) async fn export(stack: &Stack, account: &AccountId, id: &str, format: Format) -> Result<()> {
    let profile = stored(stack, account, id).await?;
    let table = stack.table(SIGNALS)?;
    let mut items = stack.query(table, account.partition_key(id)).into_paginator().items().send();
    let mut next = items.next().await;
    let rejected = RejectedTable::new(stack)?.keys_of(account, id).await?;
    ensure!(
        profile.is_some() || next.is_some() || !rejected.is_empty(),
        "Nothing is stored of {id:?} in the account {account}."
    );
    // One line for programs, one line for each signal for people.
    let separator = if format == Format::Json { "" } else { "\n" };
    let mut document = Document { writer: BufWriter::new(std::io::stdout()), separator, elements: 0 };
    let json = to_json(&profile.as_ref().map(profile_json))?;
    let (now, quoted) = (Timestamp::now(), to_json(&id)?);
    document.text(&format!(
        r#"{{"exportedAt":"{now}","accountId":"{account}","id":{quoted},"profile":{json},"signals":["#
    ))?;
    while let Some(item) = next {
        document.element(&item.map_err(|error| call_error(table, error))?)?;
        next = items.next().await;
    }
    let signals = document.end_of_array(",\"rejectedSignals\":[")?;
    for key in rejected {
        // It may have expired since its key was read.
        if let Some(item) = stack.get(stack.table(REJECTED_SIGNALS)?, key).await? {
            document.element(&item)?;
        }
    }
    let rejected = document.end_of_array("}\n")?;
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
    /// Of the array so far.
    elements: usize,
}

impl Document {
    /// Writes an element of an array.
    fn element(&mut self, item: &Item) -> Result<()> {
        self.text(if self.elements == 0 { "" } else { "," })?;
        self.text(self.separator)?;
        self.elements += 1;
        self.text(&to_json(&json_object(item, &KEY))?)
    }

    /// Ends an array, and writes what follows it. Returns how many elements it has.
    fn end_of_array(&mut self, rest: &str) -> Result<usize> {
        self.text("]")?;
        self.text(rest)?;
        Ok(std::mem::take(&mut self.elements))
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).context("Cannot write to standard output")
    }
}
