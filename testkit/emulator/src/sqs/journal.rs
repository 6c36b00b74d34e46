//! A file with a line of JSON for each change, so that a process that is killed loses none. This
//! module must not know what changes.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use tempfile::NamedTempFile;

/// The file, to which changes are appended.
#[derive(Debug)]
pub(super) struct Journal(File);

/// The changes that a file has.
#[derive(Debug)]
pub(super) struct Changes<T> {
    pub(super) changes: Vec<T>,
    /// The number of the last line, if a process was killed while it wrote this line. Its change was
    /// never acknowledged.
    pub(super) unfinished_line: Option<usize>,
}

impl Journal {
    /// Reads the changes in the file; there are none without a file.
    ///
    /// # Errors
    /// The file cannot be read; or it has a line that is no change, and is not the unfinished last
    /// one. Without such a line, changes that were acknowledged would be lost.
    pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Changes<T>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("Cannot read the queue's file {}", path.display()));
            }
        };
        let mut read = Changes {
            changes: Vec::new(),
            unfinished_line: None,
        };
        let mut first_error = None;
        for (number, line) in (1_usize..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            match serde_json::from_slice(line) {
                Ok(change) => read.changes.push(change),
                Err(error) if is_unfinished(line, &error) => read.unfinished_line = Some(number),
                Err(error) => {
                    first_error.get_or_insert((number, error));
                }
            }
        }
        let Some((number, error)) = first_error else {
            return Ok(read);
        };
        let path = path.display();
        if read.changes.is_empty() {
            bail!("{path} is not a queue file of the local stack: name another data file.");
        }
        // The error's own text may have a value of the message.
        bail!(
            "Line {number} of the queue's file {path} cannot be read from column {} on, and may have a message: repair \
             the line, delete it if the message may be lost, or name another data file.",
            error.column()
        );
    }

    /// Replaces the file by one with only these changes. Only its owner can read it.
    pub(super) fn create<T: Serialize>(
        path: &Path,
        changes: impl Iterator<Item = T>,
    ) -> Result<Self> {
        let cannot_write = || format!("Cannot write the queue's file {}", path.display());
        let folder = path.parent().unwrap_or(Path::new("."));
        let new = NamedTempFile::new_in(folder).with_context(cannot_write)?;
        let mut journal = Self(new.as_file().try_clone().with_context(cannot_write)?);
        for change in changes {
            journal.append(&change).with_context(cannot_write)?;
        }
        new.persist(path).with_context(cannot_write)?;
        Ok(journal)
    }

    /// Appends a change, before it is acknowledged. If it does not fit on the disk, nothing of it
    /// stays in the file, so that the next change begins a line.
    pub(super) fn append(&mut self, change: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(change)?;
        line.push('\n');
        let end = self.0.stream_position()?;
        let written = self.0.write_all(line.as_bytes());
        if written.is_err() {
            self.0.set_len(end)?;
            self.0.seek(SeekFrom::Start(end))?;
        }
        written
    }
}

/// Whether a line is the beginning of a change. Only the last line of a file has no line break.
fn is_unfinished(line: &[u8], error: &serde_json::Error) -> bool {
    !line.ends_with(b"\n") && error.classify() == Category::Eof
}
