//! The program `contracts`, which judges the data of signals with `--contracts`. Must not know what
//! a contract says.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

use crate::exchange::signal::{Judgement, ShownSignal};
use crate::programs::Programs;
use crate::terminal::status;

/// How long the program may take for the signals of a request: the client waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// The running program, which answers one request after the other.
pub(crate) struct ContractsProgram {
    requests: mpsc::UnboundedSender<JudgeRequest>,
    failure: Arc<OnceLock<String>>,
}

/// The signals of a request, as the program reads them, and where its judgements go.
struct JudgeRequest {
    lines: Vec<String>,
    judgements: oneshot::Sender<Vec<Judgement>>,
}

struct Judge {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl ContractsProgram {
    /// Builds the program, and starts it with the contracts of a folder.
    ///
    /// # Errors
    /// The build fails, or the folder or a contract cannot be used: the program says why.
    pub(crate) async fn start(programs: &Programs, dir: &Path) -> Result<Self> {
        programs.build("`contracts`", "contracts").await?;
        let mut command = Command::new(programs.tool("contracts"));
        command.arg("judge").arg(dir);
        Self::start_command(command).await
    }

    /// Starts the program with this command.
    async fn start_command(mut command: Command) -> Result<Self> {
        command
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
        let judge = Judge {
            input,
            output,
            _process: process,
        };
        let (requests, received) = mpsc::unbounded_channel();
        let failure = Arc::default();
        tokio::spawn(judge.serve(received, Arc::clone(&failure)));
        Ok(Self { requests, failure })
    }

    /// Judges signals. One that the program does not answer for has no judgement, and then there is
    /// a [failure](Self::failure).
    pub(crate) async fn judge(&self, signals: &mut [ShownSignal]) {
        let lines = signals.iter().map(line).collect();
        let (judgements, judged) = oneshot::channel();
        // If the program has failed, nothing receives the request, and the answer fails below.
        let _ = self.requests.send(JudgeRequest { lines, judgements });
        let Ok(judgements) = judged.await else {
            return;
        };
        for (signal, judgement) in signals.iter_mut().zip(judgements) {
            signal.judgement = Some(judgement);
        }
    }

    /// Why signals are not judged any more.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

impl Judge {
    /// Answers until it fails. A request whose client has gone is judged to its end: the next
    /// answer of the program is that to its next signal.
    async fn serve(
        mut self,
        mut requests: mpsc::UnboundedReceiver<JudgeRequest>,
        failure: Arc<OnceLock<String>>,
    ) {
        while let Some(JudgeRequest { lines, judgements }) = requests.recv().await {
            let asked = tokio::time::timeout(PATIENCE, self.ask_all(&lines)).await;
            let answered = asked.unwrap_or_else(|_| {
                Err(anyhow::anyhow!(
                    "`contracts` did not answer within {} s",
                    PATIENCE.as_secs()
                ))
            });
            match answered {
                // A client that has left receives nothing.
                Ok(answers) => drop(judgements.send(answers)),
                Err(error) => {
                    let why = format!(
                        "Signals are not judged by their contracts any more: {error:#}. Start the stack again."
                    );
                    status(&why);
                    let _ = failure.set(why);
                    return;
                }
            }
        }
    }

    async fn ask_all(&mut self, lines: &[String]) -> Result<Vec<Judgement>> {
        let mut judgements = Vec::with_capacity(lines.len());
        for line in lines {
            judgements.push(self.ask(line).await?);
        }
        Ok(judgements)
    }

    async fn ask(&mut self, line: &str) -> Result<Judgement> {
        const ENDED: &str = "`contracts` has ended";
        self.input.write_all(line.as_bytes()).await.context(ENDED)?;
        let answer = self.output.next_line().await?.context(ENDED)?;
        serde_json::from_str(&answer).context("`contracts` answers what cannot be read")
    }
}

/// A signal as the program reads it, on one line.
fn line(signal: &ShownSignal) -> String {
    let data = signal
        .data
        .as_ref()
        .and_then(|data| std::str::from_utf8(&data.0).ok());
    // The data is judged as it is stored: an empty object in place of null.
    let data = data
        .filter(|data| *data != "null")
        .unwrap_or("{}")
        .replace(['\n', '\r'], " ");
    let of = json!(signal.r#type.as_deref().unwrap_or_default());
    format!("{{\"type\":{of},\"data\":{data}}}\n")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use axum::body::Bytes;
    use tokio::process::Command;

    use super::ContractsProgram;
    use crate::exchange::parsed_response::ParsedResponse;
    use crate::exchange::signal::{ContractVerdict, ShownSignal, read_signals};

    /// A program that answers each line after a moment: one with `broken` in it is broken.
    const PROGRAM: &str = r#"echo ready; while read -r line; do
        case "$line" in
            *die*) exit;;
            *broken*) sleep 0.1; echo '{"contract":"broken"}';;
            *) sleep 0.1; echo '{"contract":"ok"}';;
        esac
    done"#;

    async fn contracts() -> ContractsProgram {
        let mut command = Command::new("sh");
        command.args(["-c", PROGRAM]);
        ContractsProgram::start_command(command).await.unwrap()
    }

    fn batch(types: &[&str]) -> Vec<ShownSignal> {
        let signal = |of: &&str| format!("{{\"customerId\":\"c\",\"eventType\":\"{of}\"}}");
        let all: Vec<_> = types.iter().map(signal).collect();
        let body = Bytes::from(format!("{{\"signals\":[{}]}}", all.join(",")));
        read_signals(&body, &ParsedResponse::default(), None)
    }

    fn judged(signals: &[ShownSignal]) -> Vec<Option<ContractVerdict>> {
        let contract = |signal: &ShownSignal| Some(signal.judgement.as_ref()?.contract);
        signals.iter().map(contract).collect()
    }

    #[tokio::test]
    async fn request_whose_client_leaves_shifts_no_judgement_of_another() {
        let contracts = contracts().await;
        let mut left = batch(&["broken", "broken"]);
        {
            let mut judging = pin!(contracts.judge(&mut left));
            // It has been asked, and is dropped before its answer.
            assert_eq!(futures_poll(judging.as_mut()).await, Poll::Pending);
        }
        let mut next = batch(&["fine", "broken", "fine"]);
        contracts.judge(&mut next).await;
        let (ok, broken) = (Some(ContractVerdict::Ok), Some(ContractVerdict::Broken));
        assert_eq!(judged(&next), [ok, broken, ok]);
        assert_eq!(contracts.failure(), None);
    }

    #[tokio::test]
    async fn program_that_ends_is_a_failure_that_is_told() {
        let contracts = contracts().await;
        let mut signals = batch(&["fine", "die"]);
        contracts.judge(&mut signals).await;
        assert_eq!(judged(&signals), [None, None]);
        let why = contracts.failure().unwrap();
        assert!(why.contains("`contracts` has ended"), "{why}");
        contracts.judge(&mut signals).await;
        assert_eq!(judged(&signals), [None, None]);
    }

    /// Polls a future once, after what it started had a chance to run.
    async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }
}
