//! `cargo dev`: builds the local stack together with the functions, and becomes the stack.
//!
//! `cargo run` builds one program. Were that the stack, the functions would be built after it: at
//! the first start, one core would wait while the other compiles the emulator, and only then would
//! the dependencies of the functions begin.
#![expect(clippy::print_stderr, reason = "a command: this is how it speaks")]

#[path = "../../../testkit/sandbox/src/cargo.rs"]
#[expect(
    unreachable_pub,
    reason = "the file belongs to a library, which would be built first with all that it needs"
)]
mod cargo;

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use cargo::cargo_command;

/// The functions of template.yaml.
const FUNCTIONS: [&str; 3] = ["customers", "overflow", "signals"];

fn main() -> ExitCode {
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    // The stack builds them for `--release`, and `--help` needs none.
    let are_needed = !arguments.iter().any(|argument| {
        ["--release", "--help", "-h", "--version", "-V"]
            .iter()
            .any(|other| argument == other)
    });
    let are_needed = are_needed && std::env::var_os("INTAKE_DEV_RELEASE").is_none();
    let functions = FUNCTIONS.into_iter().filter(|_| are_needed);
    let mut build = cargo_command(cargo);
    build.args(["build", "--locked"]).args(
        ["dev"]
            .into_iter()
            .chain(functions)
            .flat_map(|program| ["--bin", program]),
    );
    match build.status() {
        Ok(status) if status.success() => {}
        Ok(_) => return fail("the local stack could not be built: cargo's output above says why."),
        Err(error) => return fail(&format!("cargo cannot be started: {error}")),
    }
    match std::env::current_exe() {
        // It never returns unless it fails.
        Ok(own) => fail(&format!(
            "{}",
            Command::new(own.with_file_name("dev"))
                .args(arguments)
                .exec()
        )),
        Err(error) => fail(&format!("the folder of the programs is unknown: {error}")),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::FAILURE
}
