//! Instructions of a start, the first request and a warm request, by callgrind.
//!
//! Each count is a difference between runs that end while the function waits for its next event:
//! nothing is under way then.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::process::MeasuredProcess;
use crate::workload::Workload;

/// Requests until a function is warm.
const WARMED_UP: u64 = 3;

/// Warm requests, of which the mean is taken.
const WARM: u64 = 10;

/// Instructions of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions {
    /// From exec until it asks for its first event.
    pub(crate) start: u64,
    /// From there until it has responded and asks for its second event.
    pub(crate) first: u64,
    pub(crate) warm: Counted,
}

/// What callgrind counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) instructions: u64,
    /// The part that is SHA-256, whichever crate implements it. Processors have instructions for
    /// it, callgrind does not.
    pub(crate) sha256: u64,
}

/// Counts the instructions of `workload`.
pub(crate) async fn count(workload: Workload) -> Result<Instructions> {
    let file = tempfile::NamedTempFile::new()?;
    let without_request = run(workload, 0, file.path()).await?;
    let with_first = run(workload, 1, file.path()).await?;
    let start = without_request.instructions;
    let first = with_first.instructions.saturating_sub(start);
    let few = run(workload, WARMED_UP, file.path()).await?;
    let many = run(workload, WARMED_UP + WARM, file.path()).await?;
    let mean = |many: u64, few: u64| many.saturating_sub(few) / WARM;
    let warm = Counted {
        instructions: mean(many.instructions, few.instructions),
        sha256: mean(many.sha256, few.sha256),
    };
    Ok(Instructions { start, first, warm })
}

/// Instructions from exec until the function has served this many requests and waits for the next.
/// Callgrind writes `file`.
async fn run(workload: Workload, requests: u64, file: &Path) -> Result<Counted> {
    let mut process = MeasuredProcess::start_counted(workload, file).await?;
    let event = workload.event()?;
    for _ in 0..requests {
        process.invoke(&event).await?;
    }
    let counts = process.dynamodb.counts();
    ensure!(
        counts.failed_handshakes == 0,
        "it closed a connection during the handshake"
    );
    let expected_calls = workload.calls(requests);
    ensure!(
        counts.calls == expected_calls,
        "{workload:?} made {} calls to DynamoDB instead of {expected_calls}",
        counts.calls
    );
    // Callgrind writes its file when a signal ends the program.
    process.function.end(Duration::from_mins(5)).await?;
    let text = std::fs::read_to_string(file).context("callgrind wrote nothing")?;
    parse(&text)
}

/// Reads a file of callgrind with neither names nor positions compressed.
fn parse(text: &str) -> Result<Counted> {
    let mut total: Option<u64> = None;
    let mut sha256 = 0;
    // Whether the lines are those of a function of SHA-256.
    let mut is_sha256 = false;
    // Whether the next line is the cost of a called function.
    let mut is_call = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            is_sha256 = name.contains("sha256") || name.contains("Sha256");
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let cost = line.split(' ').nth(1);
            let cost: u64 = cost.and_then(|cost| cost.parse().ok()).unwrap_or_default();
            if is_sha256 && !is_call {
                sha256 += cost;
            }
            is_call = false;
        } else if let Some(sum) = sum_of_all(line) {
            total = Some(sum);
        }
    }
    Ok(Counted {
        instructions: total.context("callgrind's file has no total")?,
        sha256,
    })
}

/// The sum of all costs, if the line has it.
fn sum_of_all(line: &str) -> Option<u64> {
    let totals = line.strip_prefix("totals:");
    let sum = totals.or_else(|| line.strip_prefix("summary:"))?;
    sum.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_not_counted_as_the_callers_instructions() {
        let text =
            "fn=Sha256::update\n1 10\ncalls=2 5\n2 700\n3 20\nfn=main\n5 700\n\ntotals: 730\n";
        assert_eq!(
            parse(text).unwrap(),
            Counted {
                instructions: 730,
                sha256: 30
            }
        );
    }
}
