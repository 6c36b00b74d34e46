//! The program `contracts`, which judges the data of signals by event contracts, with
//! `--contracts`. tools/contracts/src/main.rs describes the lines that the two programs exchange.
//! Must not know what an event contract says.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

use crate::exchange::event_contract::EventContractVerdict;
use crate::exchange::signal::ShownSignal;
use crate::programs::Programs;
use crate::terminal::status;

/// How long the program may take to judge the signals of a request. Meanwhile the client waits for
/// its response.
const JUDGE_TIMEOUT: Duration = Duration::from_secs(20);

/// The first line that the program writes.
const READY: &str = "ready";

/// The running program, which judges the signals of one request after the other. It ends when the
/// last clone of this is dropped.
#[derive(Clone)]
pub(crate) struct ContractsProgram {
    requests: mpsc::UnboundedSender<JudgeRequest>,
    /// Why signals are not judged any more.
    failure: Arc<OnceLock<String>>,
}

/// The signals of a request, as the program reads them, and where its verdicts go.
struct JudgeRequest {
    lines: Vec<String>,
    verdicts: oneshot::Sender<Vec<EventContractVerdict>>,
}

/// The process of the program, with its standard input and output.
struct ProgramProcess {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl ContractsProgram {
    /// Builds the program, and starts it with the event contracts of a folder.
    ///
    /// # Errors
    /// The build fails, or the folder or an event contract cannot be used: the program says why.
    pub(crate) async fn start(programs: &Programs, dir: &Path) -> Result<Self> {
        programs.build("contracts", "`contracts`").await?;
        let mut command = Command::new(programs.path_of("contracts"));
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
        let first_line = output.next_line().await?;
        ensure!(
            first_line.is_some_and(|line| line == READY),
            "--contracts cannot be used: see above."
        );
        let process = ProgramProcess {
            input,
            output,
            _process: process,
        };
        let (requests, received) = mpsc::unbounded_channel();
        let failure = Arc::default();
        tokio::spawn(process.judge_requests(received, Arc::clone(&failure)));
        Ok(Self { requests, failure })
    }

    /// Judges the signals of a request. If the program fails, they get no verdict, and there is a
    /// [failure](Self::failure).
    pub(crate) async fn judge(&self, signals: &mut [ShownSignal]) {
        let lines = signals.iter().map(signal_line).collect();
        let (verdicts, judged) = oneshot::channel();
        // If the program has failed, nothing receives the request, and the wait below fails.
        let _ = self.requests.send(JudgeRequest { lines, verdicts });
        let Ok(verdicts) = judged.await else {
            return;
        };
        for (signal, verdict) in signals.iter_mut().zip(verdicts) {
            signal.event_contract = Some(verdict);
        }
    }

    /// Why signals are not judged any more.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

impl ProgramProcess {
    /// Judges requests until the program fails. A request whose client has left is judged to its
    /// end: otherwise the verdicts on its signals would be taken for those of the next request.
    async fn judge_requests(
        mut self,
        mut requests: mpsc::UnboundedReceiver<JudgeRequest>,
        failure: Arc<OnceLock<String>>,
    ) {
        while let Some(JudgeRequest { lines, verdicts }) = requests.recv().await {
            match self.judge_in_time(&lines).await {
                Ok(judged) => {
                    // Nothing receives the verdicts if the stack ends meanwhile.
                    let _ = verdicts.send(judged);
                }
                Err(error) => {
                    let why = format!(
                        "Signals are not judged by their event contracts any more: {error:#}. Start the stack again."
                    );
                    status(&why);
                    let _ = failure.set(why);
                    return;
                }
            }
        }
    }

    /// Judges the signals of a request within [`JUDGE_TIMEOUT`].
    async fn judge_in_time(&mut self, lines: &[String]) -> Result<Vec<EventContractVerdict>> {
        let judged = tokio::time::timeout(JUDGE_TIMEOUT, self.judge_all(lines)).await;
        judged.with_context(|| {
            let seconds = JUDGE_TIMEOUT.as_secs();
            format!("`contracts` did not answer within {seconds} s")
        })?
    }

    async fn judge_all(&mut self, lines: &[String]) -> Result<Vec<EventContractVerdict>> {
        let mut verdicts = Vec::with_capacity(lines.len());
        for line in lines {
            let verdict = self.judge_one(line).await?;
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    async fn judge_one(&mut self, line: &str) -> Result<EventContractVerdict> {
        const ENDED: &str = "`contracts` has ended";
        self.input.write_all(line.as_bytes()).await.context(ENDED)?;
        let verdict = self.output.next_line().await?.context(ENDED)?;
        serde_json::from_str(&verdict).context("`contracts` answers what cannot be read")
    }
}

/// A signal as the program reads it, on one line.
fn signal_line(signal: &ShownSignal) -> String {
    let data = signal
        .data
        .as_ref()
        .and_then(|data| std::str::from_utf8(&data.0).ok());
    // The data is judged as it is stored: an empty object in place of null.
    let data = data
        .filter(|data| *data != "null")
        .unwrap_or("{}")
        .replace(['\n', '\r'], " ");
    let signal_type = json!(signal.r#type.as_deref().unwrap_or_default());
    format!("{{\"type\":{signal_type},\"data\":{data}}}\n")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use axum::body::Bytes;
    use tokio::process::Command;

    use super::ContractsProgram;
    use crate::exchange::event_contract::EventContractVerdict;
    use crate::exchange::parsed_response::ParsedResponse;
    use crate::exchange::signal::{ShownSignal, read_signals};

    /// A program that answers each line after a moment: one with `broken` in it is broken.
    const PROGRAM: &str = r#"echo ready; while read -r line; do
        case "$line" in
            *die*) exit;;
            *broken*) sleep 0.1; echo '{"contract":"broken","breaks":[]}';;
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

    fn verdicts(signals: &[ShownSignal]) -> Vec<Option<&EventContractVerdict>> {
        let verdicts = signals.iter().map(|signal| signal.event_contract.as_ref());
        verdicts.collect()
    }

    #[tokio::test]
    async fn request_whose_client_leaves_shifts_no_verdict_of_another() {
        let contracts = contracts().await;
        let mut left = batch(&["broken", "broken"]);
        {
            let mut judging = pin!(contracts.judge(&mut left));
            // It has been asked, and is dropped before its answer.
            assert_eq!(poll_once(judging.as_mut()).await, Poll::Pending);
        }
        let mut next = batch(&["fine", "broken", "fine"]);
        contracts.judge(&mut next).await;
        let kept = Some(&EventContractVerdict::Kept);
        let broken = EventContractVerdict::Broken { breaks: Vec::new() };
        assert_eq!(verdicts(&next), [kept, Some(&broken), kept]);
        assert_eq!(contracts.failure(), None);
    }

    #[tokio::test]
    async fn program_that_ends_is_a_failure_that_is_told() {
        let contracts = contracts().await;
        let mut signals = batch(&["fine", "die"]);
        contracts.judge(&mut signals).await;
        assert_eq!(verdicts(&signals), [None, None]);
        let why = contracts.failure().unwrap();
        assert!(why.contains("`contracts` has ended"), "{why}");
        contracts.judge(&mut signals).await;
        assert_eq!(verdicts(&signals), [None, None]);
    }

    /// Polls a future once.
    async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }
}
