//! The build script of the tools. Sets `INTAKE_VERSION_AND_COMMIT` for `--version`: the version, and
//! the commit that is checked out. An archive of the sources has no commit: there, the variable
//! `INTAKE_COMMIT` names it, which .ci/package sets.
#![expect(
    clippy::print_stdout,
    reason = "a build script speaks to cargo on standard output"
)]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=INTAKE_COMMIT");
    // Git writes to this file when another commit is checked out. Cargo would run the script at
    // each build if the file did not exist.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let version = env!("CARGO_PKG_VERSION");
    let given = std::env::var("INTAKE_COMMIT").ok();
    let commit = given
        .filter(|commit| !commit.is_empty())
        .or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let text = match commit {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=INTAKE_VERSION_AND_COMMIT={text}");
}

/// What git prints, if it is installed and this is a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
