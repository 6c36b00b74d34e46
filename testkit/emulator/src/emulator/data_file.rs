//! The file in which an emulator keeps its items: one emulator's at a time, and of one version. This
//! module must not know what is in it.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use dynoxide::Database;
use rusqlite::{Connection, OpenFlags};

use crate::owner_only;

/// What every database of SQLite begins with ("Database File Format").
const FIRST_BYTES: &[u8] = b"SQLite format 3\0";

/// The version of the files that this version writes and reads: SQLite's `user_version`. Those of
/// commits that wrote none have 0.
const VERSION: i64 = 1;

/// Whether a database has no table, whether it has this one, and its version.
const READ_ORIGIN: &str = "
    SELECT count(*) = 0, ifnull(max(name = ?1), 0), (SELECT user_version FROM pragma_user_version)
    FROM sqlite_schema";

/// Which program has made a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// This version, or none: it is empty.
    ThisVersion,
    /// The local stack of another version.
    OtherVersion,
    OtherProgram,
}

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
/// It cannot be read, or another program or another version has made it.
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
    let origin = match begin.as_slice() {
        [] => Origin::ThisVersion,
        FIRST_BYTES => origin_of(path, table).with_context(cannot_use)?,
        _ => Origin::OtherProgram,
    };
    match origin {
        Origin::ThisVersion => Ok(()),
        Origin::OtherVersion => bail!(
            "{} is a data file of another version of the local stack: delete it, or name another file.",
            path.display()
        ),
        Origin::OtherProgram => bail!(
            "{} is not a data file of the local stack: name another file.",
            path.display()
        ),
    }
}

/// Which program has made a database, whose table this is.
fn origin_of(path: &Path, table: &str) -> rusqlite::Result<Origin> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.query_row(READ_ORIGIN, [table], |row| {
        let is_empty: bool = row.get(0)?;
        let has_table: bool = row.get(1)?;
        let version: i64 = row.get(2)?;
        Ok(if is_empty || (has_table && version == VERSION) {
            Origin::ThisVersion
        } else if has_table {
            Origin::OtherVersion
        } else {
            Origin::OtherProgram
        })
    })
}

/// Opens the database in a file that [`ensure_own`] has found to be one of this version or empty, or
/// creates it. It has its version before it has a table.
pub(crate) fn open_database(path: &Path) -> Result<Connection> {
    // SQLite gives the files beside it the same permissions.
    owner_only().open(path)?;
    let database = Connection::open(path)?;
    database.pragma_update(None, "user_version", VERSION)?;
    Ok(database)
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
    open_database(path).with_context(cannot_open)?;
    Database::new(name).with_context(cannot_open)
}
