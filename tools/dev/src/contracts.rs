//! The program `contracts`, which judges the data of signals with `--contracts`. Must not know what
//! a contract says.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

use crate::programs::Programs;
use crate::signal::{Judgement, Signal};

/// The running program.
pub(crate) struct Contracts(Mutex<Judge>);

struct Judge {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Contracts {
    /// Builds the program, and starts it with the contracts of a folder.
    ///
    /// # Errors
    /// The build fails, or the folder or a contract cannot be used: the program says why.
    pub(crate) async fn start(programs: &Programs, dir: &Path) -> Result<Self> {
        programs.build("`contracts`", &["contracts"], false).await?;
        let mut command = Command::new(programs.tool("contracts"));
        command
            .arg("judge")
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut process = command.spawn().context("Cannot start `contracts`")?;
        let input = process
            .stdin
            .take()
            .context("`contracts` has no standard input")?;
        let output = process
            .stdout
            .take()
            .context("`contracts` has no standard output")?;
        let mut output = BufReader::new(output).lines();
        ensure!(
            output.next_line().await?.is_some(),
            "--contracts cannot be used: see above."
        );
        Ok(Self(Mutex::new(Judge {
            input,
            output,
            _process: process,
        })))
    }

    /// Judges signals. One that the program does not answer for has no judgement.
    pub(crate) async fn judge(&self, signals: &mut [Signal]) {
        let mut judge = self.0.lock().await;
        for signal in signals {
            signal.judgement = judge.ask(signal).await.ok();
        }
    }
}

impl Judge {
    async fn ask(&mut self, signal: &Signal) -> Result<Judgement> {
        let data = signal
            .data
            .as_ref()
            .and_then(|data| std::str::from_utf8(&data.0).ok());
        // As it is stored: the object that it stands for, on one line.
        let data = data
            .filter(|data| *data != "null")
            .unwrap_or("{}")
            .replace(['\n', '\r'], " ");
        let line = format!(
            "{{\"type\":{},\"data\":{data}}}\n",
            json!(signal.r#type.as_deref().unwrap_or_default())
        );
        self.input.write_all(line.as_bytes()).await?;
        let answer = self
            .output
            .next_line()
            .await?
            .context("`contracts` has ended")?;
        Ok(serde_json::from_str(&answer)?)
    }
}
