//! The progress of an import, in a file beside the imported one, and the rejected lines with their errors in another.
//!
//! The chunks that a saved checkpoint counts are stored, and their errors are on the disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail, ensure};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::chunks::{Kind, Position, cannot_read};
use super::outcome::Outcomes;
use crate::item::as_text;
use crate::output::{Format, escape_control, note, to_json};

pub(super) struct Checkpoint {
    pub(super) path: PathBuf,
    pub(super) state: State,
    error_path: PathBuf,
    /// The imported file, locked while this import runs.
    _file: File,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct State {
    pub(super) source: Source,
    /// Identifies the import: the request identifiers of its chunks are made of it.
    #[serde(with = "as_text")]
    pub(super) import: Uuid,
    pub(super) position: Position,
    /// Of the lines of all runs.
    pub(super) outcomes: Outcomes,
    /// The length of the error file.
    error_bytes: u64,
    pub(super) done: bool,
}

/// What is imported: only an import of the same may continue.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Source {
    #[serde(with = "as_text")]
    pub(super) account: AccountId,
    pub(super) table: String,
    pub(super) kind: Kind,
    #[serde(with = "as_text")]
    pub(super) received_at: Timestamp,
    /// The length of the file and the time of its last change, to notice one.
    bytes: u64,
    modified: SystemTime,
}

impl Checkpoint {
    /// Reads the checkpoint of an import into `table`, or begins one, which is not saved yet.
    ///
    /// # Errors
    /// The file cannot be read, another import of it is running, or the checkpoint is of an import with other options.
    pub(super) fn open(
        path_of_file: &Path,
        account: &AccountId,
        received_at: Option<Timestamp>,
        kind: Kind,
        table: &str,
    ) -> Result<Self> {
        let name = path_of_file.display();
        let cannot_read = || cannot_read(path_of_file);
        let file = File::open(path_of_file).with_context(cannot_read)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => bail!("Another import of {name} is running."),
            locked => locked.with_context(|| format!("Cannot lock {name}"))?,
        }
        let metadata = file.metadata().with_context(cannot_read)?;
        let path = path_of_file.with_added_extension("import.json");
        let error_path = path_of_file.with_added_extension("errors.ndjson");
        let recorded = if path.exists() { Some(State::read(&path)?) } else { None };
        let received_at = received_at.or(recorded.as_ref().map(|state| state.source.received_at));
        let source = Source {
            account: account.clone(),
            table: table.to_owned(),
            kind,
            received_at: received_at.unwrap_or_else(Timestamp::now),
            bytes: metadata.len(),
            modified: metadata.modified().with_context(cannot_read)?,
        };
        let state = recorded.unwrap_or_else(|| State::new(source.clone()));
        ensure!(
            state.source == source,
            "{0} records an import with another account, table, --received-at or content of the file. Continue it with the \
             same options and file, or delete {0} to start again, which stores everything a second time.",
            path.display()
        );
        Ok(Self { path, state, error_path, _file: file })
    }

    /// Writes the errors of rejected lines, and then the checkpoint that counts them, completely or not at all.
    pub(super) fn save(&mut self) -> Result<()> {
        self.write_errors().with_context(|| format!("Cannot write {}", self.error_path.display()))?;
        let json = serde_json::to_vec_pretty(&self.state)?;
        let new = self.path.with_added_extension("new");
        let write = || {
            let mut file = for_owner().truncate(true).open(&new)?;
            file.write_all(&json)?;
            file.sync_data()?;
            std::fs::rename(&new, &self.path)
        };
        write().with_context(|| format!("Cannot write {}", self.path.display()))
    }

    fn write_errors(&mut self) -> Result<()> {
        let lines = self.state.outcomes.take_rejected();
        if lines.is_empty() && !self.error_path.exists() {
            return Ok(());
        }
        let mut file = for_owner().truncate(false).open(&self.error_path)?;
        // What follows was written after the checkpoint from which this run continues.
        file.set_len(self.state.error_bytes)?;
        file.seek(SeekFrom::End(0))?;
        for line in lines {
            writeln!(file, "{}", to_json(&line)?)?;
        }
        file.sync_all()?;
        self.state.error_bytes = file.metadata()?.len();
        Ok(())
    }

    /// Prints the result of the import.
    pub(super) fn print(&self, format: Format) -> Result<()> {
        let Outcomes { stored, rejected, expired, skipped, unknown_fields, .. } = &self.state.outcomes;
        let kind = self.state.source.kind;
        let error_file = (*rejected > 0).then(|| self.error_path.display().to_string());
        if let (Some(error_file), Format::Table) = (&error_file, format) {
            note(&format!("The rejected lines and their errors are in {error_file}."));
        }
        let things = if kind == Kind::Customers { "customers" } else { "signals" };
        let mut text = format!("{stored} {things} stored, {rejected} lines rejected");
        for (count, outcome) in [(expired, "expired: not stored"), (skipped, "skipped: a newer update is stored")] {
            if *count > 0 {
                text.extend([", ", &count.to_string(), " ", outcome]);
            }
        }
        text.push('.');
        if !unknown_fields.is_empty() {
            let names: Vec<_> = unknown_fields.iter().map(|name| escape_control(name)).collect();
            text.extend(["\nUnknown fields: ", &names.join(", "), "."]);
        }
        let json = json!({
            "kind": kind, "stored": stored, "rejected": rejected, "expired": expired, "skipped": skipped,
            "unknownFields": unknown_fields, "errorFile": error_file,
        });
        format.print(&text, &json)
    }
}

impl State {
    fn new(source: Source) -> Self {
        let (position, outcomes) = (Position::default(), Outcomes::default());
        Self { source, import: Uuid::new_v4(), position, outcomes, error_bytes: 0, done: false }
    }

    fn read(path: &Path) -> Result<Self> {
        let json = std::fs::read(path).with_context(|| cannot_read(path))?;
        serde_json::from_slice(&json).with_context(|| format!("{} is not the checkpoint of an import", path.display()))
    }
}

/// Opens a file for writing that, if it is new, only its owner can read: names of fields and errors are the customers'.
fn for_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
