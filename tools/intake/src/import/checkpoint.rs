//! The progress of an import, in a file beside the imported one, and the rejected lines with their errors in another.
//!
//! It is saved before anything is stored, since the keys of the signals are made of it. The chunks that it records are
//! stored, and their errors are on the disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context as _, Result, bail};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::chunks::Position;
use super::outcome::{Counts, Outcomes, UnknownFields};
use super::{Import, Kind};
use crate::item::as_text;
use crate::output::{Format, note};

pub(super) struct Checkpoint {
    pub(super) path: PathBuf,
    pub(super) state: State,
    error_path: PathBuf,
    /// Open while it has lines that may not be on the disk.
    errors: Option<File>,
    /// The imported file, locked while this import runs.
    _file: File,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct State {
    #[serde(with = "as_text")]
    pub(super) account: AccountId,
    pub(super) table: String,
    pub(super) kind: Kind,
    #[serde(with = "as_text")]
    pub(super) received_at: Timestamp,
    /// Identifies the import: the request identifiers of its chunks are made of it.
    #[serde(with = "as_text")]
    pub(super) import: Uuid,
    /// The length and the time of the imported file, to notice that it was changed.
    file: (u64, u128),
    pub(super) position: Position,
    /// The lines of all runs.
    #[serde(flatten)]
    pub(super) counts: Counts,
    unknown_fields: UnknownFields,
    /// The length of the error file.
    error_bytes: u64,
    pub(super) done: bool,
}

impl Checkpoint {
    /// Reads the checkpoint of an import into `table`, or begins one, which is not saved yet.
    ///
    /// # Errors
    /// The file cannot be read, another import of it is running, or the checkpoint is of an import with other options.
    pub(super) fn open(args: &Import, kind: Kind, table: &str) -> Result<Self> {
        let name = args.file.display();
        let file = File::open(&args.file).with_context(|| format!("Cannot read {name}"))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => bail!("Another import of {name} is running."),
            locked => locked.with_context(|| format!("Cannot lock {name}"))?,
        }
        let new = State::new(args, kind, table, &file)?;
        let path = args.file.with_added_extension("import.json");
        let error_path = args.file.with_added_extension("errors.ndjson");
        let state = if path.exists() { State::read(&path, &new, args.received_at.is_some())? } else { new };
        cut(&error_path, state.error_bytes)?;
        Ok(Self { path, state, error_path, errors: None, _file: file })
    }

    /// Records that a chunk and all before it are stored.
    pub(super) fn record(&mut self, end: Position, outcomes: &Outcomes) -> Result<()> {
        self.state.position = end;
        self.state.counts.add(outcomes.counts);
        self.state.unknown_fields.add(&outcomes.unknown_fields);
        let mut json = Vec::new();
        for line in &outcomes.errors {
            serde_json::to_writer(&mut json, line)?;
            json.push(b'\n');
        }
        if !json.is_empty() {
            let mut write = || {
                let file = OpenOptions::new().create(true).append(true).open(&self.error_path)?;
                self.errors.insert(file).write_all(&json)
            };
            write().with_context(|| format!("Cannot write {}", self.error_path.display()))?;
            self.state.error_bytes += json.len() as u64;
        }
        Ok(())
    }

    /// Writes the checkpoint to disk, completely or not at all, after the errors that it counts.
    pub(super) fn save(&mut self) -> Result<()> {
        let json = serde_json::to_vec_pretty(&self.state)?;
        let new = self.path.with_added_extension("new");
        let mut write = || {
            self.errors.take().map_or(Ok(()), |errors| errors.sync_all())?;
            let mut file = File::create(&new)?;
            file.write_all(&json)?;
            file.sync_data()?;
            std::fs::rename(&new, &self.path)
        };
        write().with_context(|| format!("Cannot write {}", self.path.display()))
    }

    /// Prints the result of the import.
    pub(super) fn print(&self, format: Format) -> Result<()> {
        let State { kind, counts, unknown_fields, .. } = &self.state;
        let Counts { stored, rejected, expired, skipped } = counts;
        let error_file = (*rejected > 0).then(|| self.error_path.display().to_string());
        if let (Some(error_file), Format::Table) = (&error_file, format) {
            note(&format!("The rejected lines and their errors are in {error_file}."));
        }
        let mut text = format!("{stored} {} stored, {rejected} lines rejected", kind.as_str());
        for (count, outcome) in [(expired, "expired: not stored"), (skipped, "skipped: a newer update is stored")] {
            if *count > 0 {
                text.extend([", ", &count.to_string(), " ", outcome]);
            }
        }
        text.push('.');
        if let Some(names) = unknown_fields.names() {
            let stored = if *kind == Kind::Customers { "if in customerData" } else { "under undocumented" };
            text.extend(["\nUnknown fields, stored ", stored, ": ", &names, "."]);
        }
        let json = json!({
            "kind": kind, "stored": stored, "rejected": rejected, "expired": expired, "skipped": skipped,
            "unknownFields": unknown_fields, "errorFile": error_file,
        });
        format.print(&text, &json)
    }
}

/// Cuts an existing error file to the length in the checkpoint: what follows will be written again.
fn cut(path: &Path, bytes: u64) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let cut = || OpenOptions::new().write(true).open(path)?.set_len(bytes);
    cut().with_context(|| format!("Cannot write {}", path.display()))
}

impl State {
    fn new(args: &Import, kind: Kind, table: &str, file: &File) -> Result<Self> {
        let metadata = file.metadata().with_context(|| format!("Cannot read {}", args.file.display()))?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            account: args.account.clone(),
            table: table.to_owned(),
            kind,
            received_at: args.received_at.unwrap_or_else(Timestamp::now),
            import: Uuid::new_v4(),
            file: (metadata.len(), modified.unwrap_or_default().as_nanos()),
            position: Position::default(),
            counts: Counts::default(),
            unknown_fields: UnknownFields::default(),
            error_bytes: 0,
            done: false,
        })
    }

    /// Reads the state of an import, which one with the options of `new` may continue.
    fn read(path: &Path, new: &Self, compare_received_at: bool) -> Result<Self> {
        let name = path.display();
        let json = std::fs::read(path).with_context(|| format!("Cannot read {name}"))?;
        let state: Self =
            serde_json::from_slice(&json).with_context(|| format!("{name} is not the checkpoint of an import"))?;
        let difference = if state.account != new.account {
            format!("is of the account {}", state.account)
        } else if state.table != new.table {
            format!("is of the table {}", state.table)
        } else if compare_received_at && state.received_at != new.received_at {
            format!("has --received-at {}", state.received_at)
        } else if state.file != new.file {
            "is of the file before it was changed".to_owned()
        } else {
            return Ok(state);
        };
        bail!(
            "The import that {name} records {difference}. Continue it with the same options and file, or delete {name} to \
             start again, which stores everything a second time."
        )
    }
}
