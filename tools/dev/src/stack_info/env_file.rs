//! The file with the variables of a running stack. It exists only while the stack runs, and a stack
//! never changes the file of another stack that runs, nor a file that no stack has written. Must not
//! know what is in it beyond its first lines.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use emulator::development_key::API_KEY;

/// How many bytes of a file are read to recognise it. The first two lines of a stack's file are
/// shorter.
const MAX_BEGINNING_BYTES: u64 = 1024;

/// Where scripts will find the variables of the running stack.
pub(crate) struct EnvFile {
    path: PathBuf,
}

impl EnvFile {
    /// Makes the place of the file: creates its folder, and deletes what a killed stack has left.
    ///
    /// # Errors
    /// The path cannot be written to, or it has something that is not the file of a killed stack.
    pub(crate) fn prepare(path: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(folder_of(&path)).with_context(|| cannot_write(&path))?;
        match path.symlink_metadata() {
            Ok(found) => delete_left_file(&path, &found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| cannot_write(&path)),
        }
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

/// Deletes the file that a killed stack has left.
///
/// # Errors
/// The path has something else, or the file is that of a running stack.
fn delete_left_file(path: &Path, found: &Metadata) -> Result<()> {
    // A device or a pipe is not even opened.
    ensure!(
        found.is_file() && is_written_by_stack(path)?,
        "Cannot replace {} (--env-file), because no earlier stack has written it. Move it, or choose another path.",
        path.display()
    );
    // A running stack holds a lock on its file, which ends with its process.
    let file = File::open(path).with_context(|| cannot_write(path))?;
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        bail!(
            "The file {} belongs to a stack that is running: stop that one, or choose another with --env-file.",
            path.display()
        );
    }
    std::fs::remove_file(path).with_context(|| cannot_write(path))
}

/// Whether the file begins as every file of a stack: with the base URL and the development key.
fn is_written_by_stack(path: &Path) -> Result<bool> {
    let file = File::open(path).with_context(|| cannot_write(path))?;
    let mut beginning = Vec::new();
    file.take(MAX_BEGINNING_BYTES)
        .read_to_end(&mut beginning)
        .with_context(|| cannot_write(path))?;
    let beginning = String::from_utf8_lossy(&beginning);
    let mut lines = beginning.lines();
    let has_base_url = lines
        .next()
        .is_some_and(|line| line.starts_with("BASE_URL=http://"));
    let has_key = lines.next().and_then(|line| line.strip_prefix("API_KEY=")) == Some(API_KEY);
    Ok(has_base_url && has_key)
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
    use std::os::unix::fs::symlink;

    use super::{API_KEY, EnvFile};

    /// The variables of a stack.
    fn variables() -> String {
        format!("BASE_URL=http://127.0.0.1:1\nAPI_KEY={API_KEY}\nACCOUNT_ID=dev\n")
    }

    #[test]
    fn env_file_of_a_running_stack_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev.env");
        let published = EnvFile::prepare(path.clone())
            .unwrap()
            .publish(variables())
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
        let _published = first.publish(variables()).unwrap();

        assert!(second.publish(variables()).is_err());
        assert!(path.exists());
    }

    #[test]
    fn env_file_that_a_killed_stack_has_left_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev.env");
        std::fs::write(&path, variables()).unwrap();

        EnvFile::prepare(path.clone()).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn file_that_no_stack_has_written_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".env");
        for text in [
            "MY_SECRET=s\n",
            "",
            "BASE_URL=http://127.0.0.1:1\nMY_SECRET=s\n",
        ] {
            std::fs::write(&path, text).unwrap();
            let error = EnvFile::prepare(path.clone()).err().unwrap().to_string();
            let expected = format!("Cannot replace {} (--env-file), ", path.display());
            assert!(error.starts_with(&expected), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn link_or_folder_in_place_of_the_file_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target.env");
        std::fs::write(&target, variables()).unwrap();
        let link = folder.path().join("link.env");
        symlink(&target, &link).unwrap();
        let dangling = folder.path().join("dangling.env");
        symlink(folder.path().join("nothing"), &dangling).unwrap();
        let in_place = folder.path().join("folder.env");
        std::fs::create_dir(&in_place).unwrap();

        for path in [link, dangling, in_place] {
            let error = EnvFile::prepare(path.clone()).err().unwrap().to_string();
            assert!(error.starts_with("Cannot replace "), "{error}");
            assert!(path.symlink_metadata().is_ok(), "{}", path.display());
        }
        assert!(EnvFile::prepare("/dev/null".into()).is_err());
        assert!(target.exists());
    }

    #[test]
    fn env_file_is_deleted_with_its_own_stack_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/dev.env");
        let publish = || {
            EnvFile::prepare(path.clone())
                .unwrap()
                .publish(variables())
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
