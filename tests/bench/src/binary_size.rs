//! The size of a function's binary and its crates. Must not know what the function does.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::Result;

use crate::target::{Target, cargo, root, run};

/// Crates of which one version is enough.
const SINGLE_VERSION: [&str; 3] = ["http", "hyper", "rustls"];

#[derive(Debug)]
pub(crate) struct BinarySize {
    /// Of the program as it is deployed, without symbols.
    pub(crate) bytes: u64,
    /// That it consists of; two versions of one are two.
    pub(crate) crates: usize,
    /// `http`, `hyper` or `rustls` where there is more than one version.
    pub(crate) duplicates: Vec<&'static str>,
}

/// Measures `target`, whose package is `package` of the workspace in `directory` of the repository.
pub(crate) fn binary_size(target: &Target, directory: &str, package: &str) -> Result<BinarySize> {
    let stripped = tempfile::NamedTempFile::new()?;
    run(Command::new("strip").arg("--strip-all").arg("-o").arg(stripped.path()).arg(&target.program))?;
    let tree = ["tree", "--locked", "--edges", "normal", "--prefix", "none", "--no-dedupe", "--format", "{p}"];
    let tree = cargo(&root().join(directory), &tree, &["--package", package])?;
    let crates: BTreeSet<_> = tree.lines().collect();
    let versions = |name: &str| crates.iter().filter(|line| line.split(' ').next() == Some(name)).count();
    let duplicates = SINGLE_VERSION.into_iter().filter(|name| versions(name) > 1).collect();
    Ok(BinarySize { bytes: stripped.path().metadata()?.len(), crates: crates.len(), duplicates })
}
