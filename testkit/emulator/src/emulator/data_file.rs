//! The file in which an emulator keeps its items: one emulator's at a time. This module must not
//! know what is in it.

use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use dynoxide::Database;

use crate::owner_only;

/// What every database of SQLite begins with ("Database File Format").
const FIRST_BYTES: &[u8] = b"SQLite format 3\0";

/// Takes the file for this process. The lock is on a file beside it: on some systems, one on the
/// database itself would keep SQLite from locking it. It ends with the process, and the file stays,
/// since another process may wait for it.
pub(super) fn lock(path: &Path) -> Result<File> {
    let lock_path = path.with_added_extension("lock");
    let file = owner_only()
        .open(&lock_path)
        .with_context(|| format!("Cannot write {}", lock_path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "The data file {} belongs to a stack that is running: stop that one, or name another file.",
            path.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("Cannot lock {}", lock_path.display()))
        }
    }
}

/// The database in the file, which is created when there is none.
pub(super) fn open(path: &Path) -> Result<Database> {
    let cannot_open = || format!("Cannot open the data file {}", path.display());
    let name = path
        .to_str()
        .context("its path is not UTF-8")
        .with_context(cannot_open)?;
    // SQLite gives the files beside it the same permissions.
    let mut file = owner_only()
        .read(true)
        .open(path)
        .with_context(cannot_open)?;
    let mut begin = Vec::new();
    file.by_ref()
        .take(FIRST_BYTES.len() as u64)
        .read_to_end(&mut begin)
        .with_context(cannot_open)?;
    if !begin.is_empty() && begin != FIRST_BYTES {
        bail!(
            "{} is not a data file of the local stack: name another file.",
            path.display()
        );
    }
    drop(file);
    Database::new(name).with_context(cannot_open)
}
