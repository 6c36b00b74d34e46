//! Cargo, started by a program that cargo itself has started. Must not know what is built.

use std::ffi::OsStr;
use std::process::Command;

/// How the variables begin that describe a package to programs that cargo runs. Cargo's configuration,
/// such as `CARGO_HOME` and `CARGO_TARGET_DIR`, begins with none of these.
const PACKAGE_VARIABLE_PREFIXES: [&str; 6] = [
    "CARGO_BIN_",
    "CARGO_CRATE_NAME",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_TARGET_TMPDIR",
];

/// A command for `program`, which is cargo or starts it, with the environment of a shell.
///
/// Build scripts such as ring's run again when the variables of the package change, and then
/// everything that depends on them is compiled again. With this command, builds in `cargo dev`, in
/// `cargo test` and in a shell have the same variables.
pub fn cargo_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_package_variable) {
            command.env_remove(name);
        }
    }
    command
}

fn is_package_variable(name: &str) -> bool {
    PACKAGE_VARIABLE_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix))
}
