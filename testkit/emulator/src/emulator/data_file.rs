//! The file in which an emulator keeps its items: one emulator's at a time. This module must not
//! know what is in it.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use dynoxide::Database;
use rusqlite::{Connection, OpenFlags};

use crate::owner_only;

/// What every database of SQLite begins with ("Database File Format").
const FIRST_BYTES: &[u8] = b"SQLite format 3\0";

/// Whether a database has no table, or this one.
const IS_OWN_DATABASE: &str = "SELECT count(*) = 0 OR max(name = ?1) FROM sqlite_schema";

/// The one path of a data file: without symbolic links, so that two stacks that name the file in two
/// ways meet at the same lock, and have the same files beside it.
///
/// # Errors
/// The folder does not exist, or the file is a link to a file that does not exist.
pub(super) fn canonical(path: &Path) -> Result<PathBuf> {
    let cannot_use = || format!("Cannot use the data file {}", path.display());
    let absolute = std::path::absolute(path).with_context(cannot_use)?;
    match absolute.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        canonical => return canonical.with_context(cannot_use),
    }
    ensure!(
        !absolute.is_symlink(),
        "{}: it is a link to a file that does not exist.",
        cannot_use()
    );
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        bail!("{}: it has no name.", cannot_use());
    };
    ensure!(
        folder.is_dir(),
        "{}: the folder {} does not exist.",
        cannot_use(),
        folder.display()
    );
    let folder = folder.canonicalize().with_context(cannot_use)?;
    Ok(folder.join(name))
}

/// Checks that the file is a database with this table, if it is there and not empty. Nothing is
/// written to it, nor beside it.
///
/// # Errors
/// It cannot be read, or another program has made it.
pub(crate) fn ensure_own(path: &Path, table: &str) -> Result<()> {
    let cannot_use = || format!("Cannot use the data file {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(cannot_use),
    };
    let mut begin = Vec::new();
    file.take(FIRST_BYTES.len() as u64)
        .read_to_end(&mut begin)
        .with_context(cannot_use)?;
    let is_own = match begin.as_slice() {
        [] => true,
        FIRST_BYTES => is_own_database(path, table).with_context(cannot_use)?,
        _ => false,
    };
    ensure!(
        is_own,
        "{} is not a data file of the local stack: name another file.",
        path.display()
    );
    Ok(())
}

fn is_own_database(path: &Path, table: &str) -> rusqlite::Result<bool> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.query_row(IS_OWN_DATABASE, [table], |row| row.get(0))
}

/// Takes the file for this process. The lock is on a file beside it: on some systems, one on the
/// database itself would keep SQLite from locking it. It ends with the process, and the file stays,
/// since another process may wait for it.
pub(super) fn lock(path: &Path) -> Result<File> {
    let lock_path = path.with_added_extension("lock");
    let cannot_lock = || {
        format!(
            "Cannot use the data file {}: cannot lock {}",
            path.display(),
            lock_path.display()
        )
    };
    let file = owner_only().open(&lock_path).with_context(cannot_lock)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "The data file {} belongs to a stack that is running: stop that one, or name another file.",
            path.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(cannot_lock),
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
    owner_only().open(path).with_context(cannot_open)?;
    Database::new(name).with_context(cannot_open)
}
