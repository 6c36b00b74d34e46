//! How far an import came, in a file beside the imported one, so that running it again goes on from there.
//!
//! It is written before anything is stored: it also holds what keys are made of. What it says is done, is done; what
//! was done after it was last written is done again, over itself.

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Result, anyhow, bail};
use model::account::AccountId;
use model::identifier::{RequestIdentifier, UuidText};
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Kind;
use super::chunks::Position;
use super::writer::Stored;

/// What an import begins with.
#[derive(Clone, Copy)]
pub(super) struct Begin<'a> {
    pub(super) account: &'a AccountId,
    pub(super) table: &'a str,
    pub(super) kind: Kind,
    pub(super) received_at: Option<Timestamp>,
}

pub(super) struct Checkpoint {
    path: PathBuf,
    entry: Entry,
    /// Locked as long as this import runs.
    _file: File,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    account: String,
    table: String,
    kind: Kind,
    received_at: String,
    /// A UUID.
    import: String,
    file: Version,
    position: Position,
    stored: u64,
    rejected: u64,
    errors_bytes: u64,
    done: bool,
}

/// Which version of the imported file it is about.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    bytes: u64,
    modified_nanos: u128,
}

/// `file` with more behind its name.
pub(super) fn beside(file: &Path, more: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(more);
    PathBuf::from(name)
}

impl Checkpoint {
    /// Opens the checkpoint of `file`, or begins one.
    ///
    /// # Errors
    /// The file cannot be read, or is being imported; what was begun with it was something else.
    pub(super) fn open(file: &Path, begin: Begin<'_>) -> Result<Self> {
        let name = file.display();
        let cannot = |error: std::io::Error| anyhow!("Cannot read {name}: {error}.");
        let imported = File::open(file).map_err(cannot)?;
        match imported.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(anyhow!("Another import of {name} is running.")),
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
        }
        let metadata = imported.metadata().map_err(cannot)?;
        if !metadata.is_file() {
            bail!("{name} is no file: an import can only go on where it stopped in one.");
        }
        let modified =
            metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let version = Version { bytes: metadata.len(), modified_nanos: modified.as_nanos() };
        let path = beside(file, ".import.json");
        match std::fs::read(&path) {
            Ok(json) => {
                let entry: Entry = serde_json::from_slice(&json)
                    .map_err(|error| anyhow!("{} is no checkpoint of an import: {error}.", path.display()))?;
                check(&entry, begin, &version, &path)?;
                Ok(Self { path, entry, _file: imported })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let checkpoint = Self { path, entry: Entry::new(begin, version), _file: imported };
                checkpoint.save()?;
                Ok(checkpoint)
            }
            Err(error) => Err(anyhow!("Cannot read {}: {error}.", path.display())),
        }
    }

    /// Writes it to disk: whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn save(&self) -> Result<()> {
        let cannot = |error: std::io::Error| anyhow!("Cannot write {}: {error}.", self.path.display());
        let json = serde_json::to_vec_pretty(&self.entry).map_err(|error| cannot(error.into()))?;
        let new = beside(&self.path, ".new");
        let mut file = File::create(&new).map_err(cannot)?;
        file.write_all(&json).and_then(|()| file.sync_data()).map_err(cannot)?;
        std::fs::rename(&new, &self.path).map_err(cannot)
    }

    /// Remembers that a chunk is stored, and all before it.
    pub(super) fn account_for(&mut self, chunk: &Stored, errors_bytes: u64) {
        let entry = &mut self.entry;
        entry.position = chunk.end;
        entry.stored = entry.stored.saturating_add(chunk.count);
        entry.rejected = entry.rejected.saturating_add(chunk.errors.len() as u64);
        entry.errors_bytes = errors_bytes;
    }

    pub(super) fn finish(&mut self) {
        self.entry.done = true;
    }

    pub(super) fn is_done(&self) -> bool {
        self.entry.done
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn position(&self) -> Position {
        self.entry.position
    }

    pub(super) fn kind(&self) -> Kind {
        self.entry.kind
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.entry.file.bytes
    }

    /// How many were stored, in all runs.
    pub(super) fn stored(&self) -> u64 {
        self.entry.stored
    }

    /// How many lines were not taken, in all runs.
    pub(super) fn rejected(&self) -> u64 {
        self.entry.rejected
    }

    pub(super) fn errors_bytes(&self) -> u64 {
        self.entry.errors_bytes
    }

    /// When everything in the file is said to have arrived.
    pub(super) fn received_at(&self) -> Result<Timestamp> {
        let ill_formed = |_| anyhow!("{} has no time of arrival: it was edited.", self.path.display());
        self.entry.received_at.parse().map_err(ill_formed)
    }

    /// Names the requests that the chunks of this import are stored as.
    pub(super) fn requests(&self) -> Result<Requests> {
        let ill_formed = |_| anyhow!("{} has no identifier of the import: it was edited.", self.path.display());
        self.entry.import.parse().map(Requests).map_err(ill_formed)
    }
}

/// The identifiers of an import's chunks: a random UUID whose last 48 bits are the number of the chunk, so that they
/// can be told to belong together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests(Uuid);

impl Requests {
    pub(super) fn of_chunk(self, chunk: u64) -> RequestIdentifier {
        let number = 0xffff_ffff_ffff;
        let uuid = Uuid::from_u128((self.0.as_u128() & !number) | (u128::from(chunk) & number));
        UuidText::parse(uuid.to_string()).map_or_else(RequestIdentifier::random, RequestIdentifier::from)
    }
}

impl Entry {
    fn new(begin: Begin<'_>, file: Version) -> Self {
        Self {
            account: begin.account.to_string(),
            table: begin.table.to_owned(),
            kind: begin.kind,
            received_at: begin.received_at.unwrap_or_else(Timestamp::now).to_string(),
            import: Uuid::new_v4().to_string(),
            file,
            position: Position::default(),
            stored: 0,
            rejected: 0,
            errors_bytes: 0,
            done: false,
        }
    }
}

/// An import goes on only as what it was begun as.
fn check(entry: &Entry, begin: Begin<'_>, version: &Version, path: &Path) -> Result<()> {
    let differs = if entry.account != begin.account.as_str() {
        format!("is of the account {}", entry.account)
    } else if entry.table != begin.table {
        format!("is of the table {}", entry.table)
    } else if entry.kind != begin.kind {
        format!("is of {}", entry.kind.as_str())
    } else if begin.received_at.is_some_and(|moment| moment.to_string() != entry.received_at) {
        format!("has {} as time of arrival", entry.received_at)
    } else if entry.file != *version {
        "is of this file as it was before it was changed".to_owned()
    } else {
        return Ok(());
    };
    Err(anyhow!(
        "The import that {} keeps {differs}: go on with it as it was begun, or delete that file to begin anew, which stores \
         everything once more.",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chunks_of_an_import_have_identifiers_of_their_own_that_stay() {
        let requests = Requests(Uuid::new_v4());
        let (first, second) = (requests.of_chunk(0).canonical(), requests.of_chunk(1).canonical());
        assert_ne!(first, second);
        assert_eq!(first.get(..24), second.get(..24));
        assert_eq!(requests.of_chunk(1).canonical(), second);
        assert!(second.ends_with("-000000000001"));
    }
}
