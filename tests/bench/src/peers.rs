//! The same work in Python and in Node.js: `tests/bench/peers`, which has the script that installs
//! them.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::program::{Program, root};

/// Installs the peers, unless they are there already. Each does the work of both functions, and is
/// named by its language and its SDK, with their versions.
pub(crate) fn install() -> Result<Vec<Program>> {
    let script = root().join("tests/bench/peers/install");
    let installed = Command::new(&script)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{} cannot be started", script.display()))?;
    ensure!(
        installed.status.success(),
        "the peers cannot be installed; the script has said why"
    );
    let lines = String::from_utf8(installed.stdout)?;
    lines.lines().map(peer).collect()
}

/// The peer in a line of the script.
fn peer(line: &str) -> Result<Program> {
    let fields: Vec<_> = line.split('\t').collect();
    let [label, interpreter, path] = fields.as_slice() else {
        bail!("the script for the peers has printed: {line}");
    };
    Ok(Program {
        name: (*label).to_owned(),
        path: path.into(),
        wrapper: vec![interpreter.into()],
        variables: Vec::new(),
    })
}
