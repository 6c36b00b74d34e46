//! The progress of an import, in a file beside the imported one, from which the import continues when it is run again.
//!
//! It is saved before anything is stored, since the keys of the signals are made of it. The chunks that it records are
//! stored; chunks that were stored after it was saved are stored again, under the same keys.

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use anyhow::{Context as _, Result, bail};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::chunks::Position;
use super::error_file::ErrorFile;
use super::outcome::{Counts, StoredChunk, UnknownFields};
use super::{Import, Kind};
use crate::item::as_text;

pub(super) struct Checkpoint {
    /// Where it is saved; `None` when standard input is imported, which cannot be read again.
    pub(super) path: Option<PathBuf>,
    pub(super) state: State,
    /// The imported file, locked while this import runs.
    _file: Option<File>,
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
    pub(super) file: FileVersion,
    pub(super) position: Position,
    /// The lines of all runs.
    #[serde(flatten)]
    pub(super) counts: Counts,
    #[serde(default)]
    pub(super) unknown_fields: UnknownFields,
    /// The length of the error file.
    pub(super) error_bytes: u64,
    pub(super) done: bool,
}

/// Distinguishes versions of the imported file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileVersion {
    pub(super) bytes: u64,
    modified_nanos: u128,
}

impl Checkpoint {
    /// The checkpoint of an import of standard input, which is not saved.
    pub(super) fn unsaved(args: &Import, kind: Kind, table: &str) -> Self {
        Self { path: None, state: State::new(args, kind, table, FileVersion::default()), _file: None }
    }

    /// Reads the checkpoint of an import into `table`, or creates it.
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
        let metadata = file.metadata().with_context(|| format!("Cannot read {name}"))?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let version = FileVersion { bytes: metadata.len(), modified_nanos: modified.unwrap_or_default().as_nanos() };
        let new = State::new(args, kind, table, version);
        let path = args.file.with_added_extension("import.json");
        if path.exists() {
            let checkpoint = path.display();
            let json = std::fs::read(&path).with_context(|| format!("Cannot read {checkpoint}"))?;
            let state: State = serde_json::from_slice(&json)
                .with_context(|| format!("{checkpoint} is not the checkpoint of an import"))?;
            if let Some(difference) = state.difference(&new, args.received_at.is_some()) {
                bail!(
                    "The import that {checkpoint} records {difference}. Continue it with the same options and file, or \
                     delete {checkpoint} to start again, which stores everything a second time."
                );
            }
            return Ok(Self { path: Some(path), state, _file: Some(file) });
        }
        let checkpoint = Self { path: Some(path), state: new, _file: Some(file) };
        checkpoint.write()?;
        Ok(checkpoint)
    }

    /// Saves the checkpoint, after the lines of `errors` that it counts.
    pub(super) fn save(&self, errors: &mut ErrorFile) -> Result<()> {
        errors.sync()?;
        self.write()
    }

    /// Writes the checkpoint to disk, completely or not at all.
    fn write(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let json = serde_json::to_vec_pretty(&self.state)?;
        let new = path.with_added_extension("new");
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(&json)?;
            file.sync_data()?;
            std::fs::rename(&new, path)
        };
        write().with_context(|| format!("Cannot write {}", path.display()))
    }
}

impl State {
    fn new(args: &Import, kind: Kind, table: &str, file: FileVersion) -> Self {
        Self {
            account: args.account.clone(),
            table: table.to_owned(),
            kind,
            received_at: args.received_at.unwrap_or_else(Timestamp::now),
            import: Uuid::new_v4(),
            file,
            position: Position::default(),
            counts: Counts::default(),
            unknown_fields: UnknownFields::default(),
            error_bytes: 0,
            done: false,
        }
    }

    /// Records that a chunk and all before it are stored.
    pub(super) fn record(&mut self, chunk: &StoredChunk, error_bytes: u64) {
        self.position = chunk.end;
        self.counts.add(chunk.counts);
        self.unknown_fields.add(&chunk.unknown_fields);
        self.error_bytes = error_bytes;
    }

    /// In what an import with the options of `new` would not continue this one.
    fn difference(&self, new: &Self, compare_received_at: bool) -> Option<String> {
        if self.account != new.account {
            Some(format!("is of the account {}", self.account))
        } else if self.table != new.table {
            Some(format!("is of the table {}", self.table))
        } else if self.kind != new.kind {
            Some(format!("is of {}", self.kind.as_str()))
        } else if compare_received_at && self.received_at != new.received_at {
            Some(format!("has --received-at {}", self.received_at))
        } else if self.file != new.file {
            Some("is of the file before it was changed".to_owned())
        } else {
            None
        }
    }
}
