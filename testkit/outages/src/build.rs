//! The builds that are measured: folders with the release programs of the functions.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use cargo_command::cargo_command;

/// The programs of a build that are run.
const PROGRAMS: [&str; 3] = ["customers", "signals", "overflow"];

/// A build that is measured.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    /// The name that the table prints.
    pub(crate) name: String,
    /// The folder of its programs.
    pub(crate) folder: PathBuf,
}

impl Build {
    pub(crate) fn new(name: &str, folder: &Path) -> Result<Self> {
        for program in PROGRAMS {
            let path = folder.join(program);
            ensure!(path.is_file(), "there is no program {}", path.display());
        }
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be found", folder.display()))?;
        Ok(Self {
            name: name.to_owned(),
            folder,
        })
    }
}

/// Builds the programs of this working tree as they are deployed, and returns their folder.
pub(crate) fn build_release() -> Result<PathBuf> {
    eprintln!("outages: building the release programs");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = cargo_command(cargo)
        .args(["build", "--release", "--locked"])
        .args(PROGRAMS.iter().flat_map(|name| ["--package", name]))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .status()
        .context("cargo cannot be started")?;
    ensure!(
        status.success(),
        "the release programs cannot be built; cargo has shown why"
    );
    // This program is in the folder of its own profile, beside which the release has another.
    let own = std::env::current_exe()?;
    let target = own.ancestors().nth(2);
    let target = target.context("the folder of the programs is unknown")?;
    Ok(target.join("release"))
}
