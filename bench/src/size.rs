//! What a function is before it runs: its size, and the crates it is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::subject::{Subject, root};

/// Crates that nothing needs twice.
const ONCE: [&str; 3] = ["http", "hyper", "rustls"];

/// Size and crates of a function.
#[derive(Clone, Debug)]
pub struct Size {
    /// Of the bootstrap binary as it is deployed, without symbols.
    pub bytes: u64,
    /// Crates on which it depends, itself included, each version on its own.
    pub crates: usize,
    /// Those of `hyper`, `rustls` and `http` that it has in more than one version.
    pub twice: Vec<String>,
}

/// Weighs `subject`, whose package is `package` of the workspace in `directory`, below the root.
///
/// # Errors
/// When `strip` or `cargo tree` fails.
pub fn weigh(subject: &Subject, directory: &str, package: &str) -> Result<Size> {
    let stripped = tempfile::NamedTempFile::new()?;
    let mut strip = Command::new("strip");
    output(strip.arg("--strip-all").arg("-o").arg(stripped.path()).arg(&subject.program))?;
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
    let twice = ONCE.iter().filter(|name| versions.get(*name).is_some_and(|count| *count > 1));
    Ok(Size {
        bytes: stripped.path().metadata()?.len(),
        crates: crates.len(),
        twice: twice.map(ToString::to_string).collect(),
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
