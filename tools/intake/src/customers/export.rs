//! `customers export`: everything that is stored of a customer or an emitter, as one JSON document.
//!
//! The document is written while the tables are read: a history may be longer than the memory.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;
use serde_json::json;
use tempfile::Builder;

use super::Target;
use super::show::find;
use crate::error::call_error;
use crate::interrupt::until_interrupted;
use crate::item::{Item, json_object};
use crate::keys::unknown_account_hint;
use crate::output::{Format, note};
use crate::rejected::RejectedTable;
use crate::stack::{REJECTED_SIGNALS, SIGNALS, Stack};

/// The attributes that only the tables need.
const INTERNAL: [&str; 2] = ["pk", "sk"];

const CANNOT_WRITE: &str = "Cannot write the export";

#[derive(Args, Debug)]
pub(crate) struct Export {
    #[command(flatten)]
    target: Target,

    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Overwrite the file if it exists
    #[arg(long, requires = "out")]
    overwrite: bool,
}

/// How much was exported.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    profiles: usize,
    signals: usize,
    rejected_signals: usize,
}

impl Export {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Target { account, id } = &self.target;
        // One line for programs, one line for each signal for people.
        let separator = if format == Format::Json { "" } else { "\n" };
        let counts = match &self.out {
            None => {
                let mut document = Document { writer: BufWriter::new(std::io::stdout()), separator };
                document.write(stack, account, id).await?
            }
            Some(file) => self.write_file(stack, file).await?,
        };
        let Counts { profiles, signals, rejected_signals } = counts;
        let summary = format!(
            "Exported {id:?} of the account {account}: {profiles} profile(s), {signals} signal(s), {rejected_signals} rejected \
             signal(s)."
        );
        match &self.out {
            Some(file) => format.print(&summary, &json!({"file": file, "counts": counts}))?,
            None => note(&summary),
        }
        if profiles + signals + rejected_signals == 0 {
            note(&format!("Nothing is stored of {id:?}.{}", unknown_account_hint(stack, account).await));
        }
        Ok(())
    }

    /// Writes the file whole or not at all, readable by the operator only.
    async fn write_file(&self, stack: &Stack, file: &Path) -> Result<Counts> {
        let Target { account, id } = &self.target;
        let path = file.display();
        let exists = format!("{path} exists. Choose another file, or add --overwrite.");
        if !self.overwrite && file.exists() {
            bail!(exists);
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let cannot_write = || format!("Cannot write {path}");
        let mut unfinished = Builder::new().prefix(".export-").tempfile_in(folder).with_context(cannot_write)?;
        let mut document = Document { writer: BufWriter::new(&mut unfinished), separator: "\n" };
        let Some(counts) = until_interrupted(document.write(stack, account, id)).await? else {
            bail!("The export was interrupted: {path} was not written.");
        };
        drop(document);
        unfinished.as_file().sync_all().with_context(cannot_write)?;
        if self.overwrite {
            unfinished.persist(file).with_context(cannot_write)?;
        } else {
            // Another command may have written the file in the meantime.
            unfinished.persist_noclobber(file).map_err(|error| error.error).with_context(|| exists)?;
        }
        Ok(counts)
    }
}

/// A JSON document that is written part by part.
struct Document<W> {
    writer: W,
    /// Between the parts.
    separator: &'static str,
}

impl<W: Write> Document<W> {
    async fn write(&mut self, stack: &Stack, account: &AccountId, id: &str) -> Result<Counts> {
        let profile = find(stack, account, id).await?;
        let profile_json = serde_json::to_string(&profile.as_ref().map(|profile| json_object(profile, &INTERNAL)))?;
        let (now, quoted) = (Timestamp::now(), serde_json::to_string(id)?);
        self.text(&format!(
            r#"{{"exportedAt":"{now}","accountId":"{account}","id":{quoted},"profile":{profile_json}"#
        ))?;
        let mut counts = Counts { profiles: usize::from(profile.is_some()), ..Counts::default() };
        self.text(",\"signals\":[")?;
        counts.signals = self.signals(stack, account, id).await?;
        self.text(",\"rejectedSignals\":[")?;
        counts.rejected_signals = self.rejected_signals(stack, account, id).await?;
        self.text("}\n")?;
        self.writer.flush().context(CANNOT_WRITE).map(|()| counts)
    }

    async fn signals(&mut self, stack: &Stack, account: &AccountId, id: &str) -> Result<usize> {
        let table = stack.table(SIGNALS)?;
        let mut items = stack.query(table, account.partition_key(id)).into_paginator().items().send();
        let mut count = 0;
        while let Some(item) = items.next().await {
            self.element(&item.map_err(|error| call_error(table, error))?, &mut count)?;
        }
        self.text("]").map(|()| count)
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
        self.text("]").map(|()| count)
    }

    /// Writes an element of an array that has `count` elements so far.
    fn element(&mut self, item: &Item, count: &mut usize) -> Result<()> {
        self.text(if *count == 0 { "" } else { "," })?;
        self.text(self.separator)?;
        *count += 1;
        self.text(&serde_json::to_string(&json_object(item, &INTERNAL))?)
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).context(CANNOT_WRITE)
    }
}
