//! The programs of the functions as `cargo test` has them, and how they run over an emulator.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context as _, Error, Result, ensure};
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE};
use processes::cargo_command::cargo_command;

use crate::fake_s3::{FakeS3, KEY_SNAPSHOT_BUCKET};
use crate::function_process::ProcessOptions;
use crate::tables::template;

/// Builds the functions, once in a process, and returns the folder of their programs.
///
/// # Errors
/// When they cannot be built; cargo has shown why.
pub fn build_functions() -> Result<PathBuf> {
    static BUILT: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let built = build(&["customers", "deliver", "overflow", "signals"]);
        built.map_err(|error| format!("{error:#}"))
    });
    BUILT.clone().map_err(Error::msg)
}

/// Builds `cargo dev`, once in a process, and returns its program.
///
/// # Errors
/// When it cannot be built; cargo has shown why.
pub(crate) fn build_dev() -> Result<PathBuf> {
    // Cargo takes 0.3 s of processor time to find that nothing has changed.
    static BUILT: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| build(&["dev"]).map_err(|error| format!("{error:#}")));
    let folder = BUILT.clone().map_err(Error::msg)?;
    Ok(folder.join("dev"))
}

/// Builds programs of the workspace, and returns their folder.
///
/// # Errors
/// Cargo cannot be started, or the build fails.
pub fn build(programs: &[&str]) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = cargo_command(cargo)
        .args(["build", "--quiet", "--locked"])
        .args(programs.iter().flat_map(|name| ["--bin", name]))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .status()
        .context("cargo cannot be started")?;
    ensure!(
        built.success(),
        "{} cannot be built; cargo has shown why",
        programs.join(", ")
    );
    let current_program =
        std::env::current_exe().context("the folder of the programs is unknown")?;
    let folder = current_program
        .parent()
        .context("the folder of the programs is unknown")?;
    // The program of a test is one folder deeper than others.
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    Ok(folder.to_owned())
}

/// A process of `program`, a function of template.yaml, over the emulator that `dynamodb` leads to.
/// It has the variables and the timeout of the template, and its queues and the key snapshot in this SQS
/// and this S3.
pub fn emulator_options(
    program: &Path,
    dynamodb: &str,
    sqs: &FakeSqs,
    s3: &FakeS3,
) -> ProcessOptions {
    let template = template();
    let variables = template
        .environment()
        .expect("the functions agree on their variables");
    let package = program.file_name().and_then(OsStr::to_str);
    let function = template
        .function(package.unwrap_or_default())
        .expect("template.yaml has a function for the program");
    let resources = [
        ("AWS_ENDPOINT_URL_SQS", sqs.endpoint()),
        ("AWS_ENDPOINT_URL_S3", s3.endpoint()),
        ("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET.to_owned()),
        ("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE.to_owned()),
        ("DEAD_LETTER_QUEUE_URL", DEAD_LETTER_QUEUE.to_owned()),
    ];
    let resources = resources.map(|(name, value)| (name.to_owned(), value));
    ProcessOptions {
        variables: variables
            .into_iter()
            .chain(resources)
            .map(|(name, value)| (name, value.into()))
            .collect(),
        concurrency: Some(1),
        ..ProcessOptions::new(program, dynamodb, function.timeout)
    }
}
