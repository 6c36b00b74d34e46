//! The size of a function's binary and its crates. Must not know what the function does.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::target::{Target, root};

/// Crates of which one version is enough.
const SINGLE_VERSION: [&str; 3] = ["http", "hyper", "rustls"];

/// The size and the crates of a function.
#[derive(Clone, Debug)]
pub struct BinarySize {
    /// Bytes of the bootstrap binary as it is deployed, without symbols.
    pub bytes: u64,
    /// Crates that it consists of; two versions of one are two.
    pub crates: usize,
    /// `http`, `hyper` or `rustls` where there is more than one version.
    pub duplicates: Vec<String>,
}

/// Measures `target`, whose package is `package` of the workspace in `directory` of the repository.
///
/// # Errors
/// When `strip` or `cargo tree` fails.
pub fn binary_size(target: &Target, directory: &str, package: &str) -> Result<BinarySize> {
    let stripped = tempfile::NamedTempFile::new()?;
    let mut strip = Command::new("strip");
    output(strip.arg("--strip-all").arg("-o").arg(stripped.path()).arg(&target.program))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tree = Command::new(cargo);
    tree.current_dir(root().join(directory)).args(["tree", "--locked", "--edges", "normal", "--prefix", "none"]);
    tree.args(["--format", "{p}", "--package", package]);
    let tree = output(&mut tree)?;
    let crates: BTreeSet<_> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?))
        })
        .collect();
    let mut versions = BTreeMap::<_, usize>::new();
    for (name, _) in &crates {
        let count = versions.entry(*name).or_default();
        *count = count.saturating_add(1);
    }
    let duplicates = SINGLE_VERSION.iter().filter(|name| versions.get(*name).is_some_and(|count| *count > 1));
    Ok(BinarySize {
        bytes: stripped.path().metadata()?.len(),
        crates: crates.len(),
        duplicates: duplicates.map(ToString::to_string).collect(),
    })
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("{program} cannot be started"))?;
    if !output.status.success() {
        bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
