//! Finds the files that the stack reads and writes: template.yaml and the sample data, which are in
//! the repository or beside `./dev` in an unpacked release. Must not know what is in them.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// The folders of the stack's files.
#[derive(Clone)]
pub(crate) struct Files {
    /// The folder of template.yaml and of events/seed.
    pub(crate) root: PathBuf,
    /// The folder of the file for the variables, unless an option names another one.
    env_folder: PathBuf,
}

/// The folder of this program, if it is the folder of an unpacked release.
pub(crate) fn release_folder() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.to_owned();
    folder.join("template.yaml").is_file().then_some(folder)
}

impl Files {
    /// Finds the folder of the release, or else that of the repository: the current folder or one
    /// above it, or one above this program.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn find() -> Result<Self> {
        if let Some(root) = release_folder() {
            return Ok(Self {
                root,
                env_folder: PathBuf::new(),
            });
        }
        let current = std::env::current_dir().context("Cannot find the current folder")?;
        // Where cargo has built it, this program is below the repository.
        let program = std::env::current_exe().unwrap_or_default();
        // The template of the delivery has no Cargo.toml beside it.
        let mut folders = current.ancestors().chain(program.ancestors());
        let root = folders.find(|folder| {
            folder.join("template.yaml").is_file() && folder.join("Cargo.toml").is_file()
        });
        let root = root.context(
            "Neither this folder nor this program is in the repository of Intake: no folder above them has template.yaml \
             and Cargo.toml.",
        )?;
        Ok(Self {
            root: root.to_owned(),
            // Also where CARGO_TARGET_DIR names another folder, so that each reader finds it.
            env_folder: root.join("target"),
        })
    }

    /// The path of the file for the variables, unless an option names another one.
    pub(crate) fn env_file(&self) -> PathBuf {
        self.env_folder.join("dev.env")
    }
}
