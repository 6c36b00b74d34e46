//! The file with the variables of a running stack. It exists only while the stack runs, and a stack
//! never changes the file of another stack that runs. Must not know what is in it.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// Where scripts will find the variables of the running stack.
pub(crate) struct EnvFile {
    path: PathBuf,
}

impl EnvFile {
    /// Makes the place of the file: creates its folder, and deletes what a killed stack has left.
    ///
    /// # Errors
    /// The path cannot be written to, or the file is that of a running stack.
    pub(crate) fn prepare(path: PathBuf) -> Result<Self> {
        // A running stack holds a lock on its file, which ends with its process.
        let is_locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if File::open(&path).is_ok_and(is_locked) {
            bail!(
                "The file {} belongs to a stack that is running: stop that one, or choose another with --env-file.",
                path.display()
            );
        }
        clear_place(&path).with_context(|| cannot_write(&path))?;
        Ok(Self { path })
    }

    /// Writes the file as a whole: a reader finds all of it or none.
    ///
    /// # Errors
    /// The file cannot be written, or another stack has written it since.
    pub(crate) fn publish(self, text: String) -> Result<PublishedEnvFile> {
        let lock = write_locked(&self.path, &text).with_context(|| cannot_write(&self.path))?;
        Ok(PublishedEnvFile {
            path: self.path,
            text,
            _lock: lock,
        })
    }
}

/// The written file. Dropping it removes it, so that it never points at a stack that is gone.
pub(crate) struct PublishedEnvFile {
    path: PathBuf,
    text: String,
    /// The open file, which is locked as long as the stack runs.
    _lock: File,
}

impl PublishedEnvFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PublishedEnvFile {
    fn drop(&mut self) {
        // Another stack may have written its own since.
        if std::fs::read_to_string(&self.path).is_ok_and(|found| found == self.text) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Creates the folder of the file, and deletes the file if it exists.
fn clear_place(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder_of(path))?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a file that must not exist, and returns it with a lock.
fn write_locked(path: &Path, text: &str) -> io::Result<File> {
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    file.write_all(text.as_bytes())?;
    // A file system without locks is no reason to fail: two stacks with one file are rare.
    let _ = file.as_file().lock();
    let file = file.persist_noclobber(path);
    file.map_err(|error| error.error)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn cannot_write(path: &Path) -> String {
    format!("Cannot write {} (--env-file)", path.display())
}

#[cfg(test)]
mod tests {
    use super::EnvFile;

    #[test]
    fn env_file_of_a_running_stack_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev.env");
        let published = EnvFile::prepare(path.clone())
            .unwrap()
            .publish("BASE_URL=x\n".to_owned())
            .unwrap();

        let error = EnvFile::prepare(path.clone()).err().unwrap().to_string();
        assert_eq!(
            error,
            format!(
                "The file {} belongs to a stack that is running: stop that one, or choose another with --env-file.",
                path.display()
            )
        );
        assert!(path.exists());
        drop(published);
        assert!(!path.exists());
    }

    #[test]
    fn env_file_that_another_stack_has_written_in_between_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev.env");
        let (first, second) = (
            EnvFile::prepare(path.clone()).unwrap(),
            EnvFile::prepare(path.clone()).unwrap(),
        );
        let _published = first.publish("BASE_URL=x\n".to_owned()).unwrap();

        assert!(second.publish("BASE_URL=x\n".to_owned()).is_err());
        assert!(path.exists());
    }

    #[test]
    fn env_file_that_a_killed_stack_has_left_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev.env");
        std::fs::write(&path, "BASE_URL=http://127.0.0.1:1").unwrap();

        EnvFile::prepare(path.clone()).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn env_file_is_deleted_with_its_own_stack_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/dev.env");
        let publish = || {
            EnvFile::prepare(path.clone())
                .unwrap()
                .publish("BASE_URL=x\n".to_owned())
                .unwrap()
        };

        drop(publish());
        assert!(!path.exists());

        let published = publish();
        std::fs::write(&path, "BASE_URL=another").unwrap();
        drop(published);
        assert!(path.exists());
    }
}
