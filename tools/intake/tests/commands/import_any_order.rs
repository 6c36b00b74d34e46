//! Random imports of signals: whatever order the lines have, and wherever an import ends, each line of a
//! source is stored once (docs/cli.md, Import).

use std::collections::BTreeMap;
use std::time::Duration;

use harness::fault_proxy::Plan;
use harness::{AppBehindProxy, Item, RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::clock::days_ago;
use crate::support::operator::Operator;
use crate::support::requests::{FLOW, send};
use crate::support::running_command::{EndedCommand, RunningCommand};

/// The time of the lines without one.
const RECEIVED_AT: &str = "2026-11-20T12:00:00.000Z";

const ROUNDS: u64 = 8;

/// A line of a source.
#[derive(Clone)]
struct Line {
    text: String,
    /// What it stores, as [`stored`] writes it; `None` if the line is invalid.
    stored: Option<String>,
    /// Whether the line has a key of its own.
    has_own_key: bool,
}

/// A file, as it would be if none of its lines had been cut.
struct Source {
    file: &'static str,
    lines: Vec<Line>,
}

/// How a file is imported.
struct Run {
    lines: Vec<Line>,
    from_line: usize,
    /// When the command is killed.
    killed_after: Option<Duration>,
}

/// Makes lines at random.
struct Generator {
    random: fastrand::Rng,
    begin: Timestamp,
    lines: u64,
}

impl Generator {
    fn line(&mut self) -> Line {
        self.lines += 1;
        let subject = format!("s{}", self.random.u8(..4));
        let mut line = if self.random.bool() {
            json!({"customerId": subject, "eventType": "view"})
        } else {
            json!({"emitterId": subject, "stepNodeId": "n", "eventflowIdentifier": FLOW})
        };
        line["data"] = json!({"n": self.lines});
        let has_own_key = self.random.u8(..8) == 0;
        let mut time = RECEIVED_AT.to_owned();
        if has_own_key || self.random.bool() {
            let hours = Duration::from_hours(self.random.u64(..5));
            time = self.begin.plus(hours).to_string();
            line["receivedAt"] = json!(time);
        }
        if has_own_key {
            line["requestIdentifier"] = json!(Uuid::from_u128(self.random.u128(..)));
            line["index"] = json!(self.random.u8(..3));
        }
        let is_valid = self.random.u8(..20) > 0;
        if !is_valid {
            line["data"] = json!("no object");
        }
        Line {
            text: line.to_string(),
            stored: is_valid.then(|| format!("{subject} {time} {}", self.lines)),
            has_own_key,
        }
    }

    /// Appends lines to both sources. Some are equal to a line before them, or in both sources.
    fn grow(&mut self, sources: &mut [Source; 2], lines: usize) {
        for _ in 0..lines {
            let line = self.line();
            let first = self.random.usize(..2);
            sources[first].lines.push(line.clone());
            if !line.has_own_key && self.random.u8(..4) == 0 {
                let source = self.random.usize(..2);
                sources[source].lines.push(line);
            }
        }
    }

    /// Gives lines with a key of their own other data.
    fn edit(&mut self, source: &mut Source) {
        let own = source.lines.iter_mut().filter(|line| line.has_own_key);
        for line in own {
            let Some(stored) = &mut line.stored else {
                continue;
            };
            if self.random.u8(..4) == 0 {
                self.lines += 1;
                let mut edited: Value = serde_json::from_str(&line.text).unwrap();
                edited["data"]["n"] = json!(self.lines);
                line.text = edited.to_string();
                let (place, _) = stored.rsplit_once(' ').unwrap();
                *stored = format!("{place} {}", self.lines);
            }
        }
    }

    /// Some of the lines of a source, in some order, with blank lines between them.
    fn run(&mut self, source: &Source) -> Run {
        let mut lines = source.lines.clone();
        match self.random.u8(..4) {
            0 => self.random.shuffle(&mut lines),
            1 => drop(lines.drain(..self.random.usize(..lines.len() / 2))),
            2 => lines.truncate(self.random.usize(lines.len() / 2..lines.len())),
            _ => {}
        }
        let from_line = if self.random.u8(..4) == 0 {
            self.random.usize(1..lines.len() / 2)
        } else {
            1
        };
        let killed_after = self
            .random
            .bool()
            .then(|| Duration::from_millis(self.random.u64(..300)));
        Run {
            lines,
            from_line,
            killed_after,
        }
    }

    /// The text of a file with these lines. Blank lines between them move no line, if none is left out.
    fn text(&mut self, run: &Run) -> String {
        let mut text = String::new();
        for line in &run.lines {
            if run.from_line == 1 && self.random.u8(..10) == 0 {
                text.push_str(" \n");
            }
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

/// The command that imports a file, from this line on.
fn start(operator: &Operator, file: &str, from_line: usize) -> RunningCommand {
    let from_line = from_line.to_string();
    let import = ["import", "--account", "shop", "--keep-going", "--json"];
    let options = ["--received-at", RECEIVED_AT, "--from-line", &from_line];
    RunningCommand::start(operator, &[&import[..], &options, &[file]].concat())
}

async fn end(command: RunningCommand, killed_after: Option<Duration>) -> EndedCommand {
    match killed_after {
        Some(after) => {
            tokio::time::sleep(after).await;
            command.end("KILL")
        }
        None => command.wait(),
    }
}

/// The counts of an import that has ended by itself; `None` if it was killed.
fn summary(ended: &EndedCommand) -> Option<Value> {
    let code = ended.code?;
    assert_eq!(code, 0, "{ended:?}");
    Some(serde_json::from_str(&ended.stdout[0]).unwrap())
}

fn count(summary: &Value, names: &[&str]) -> u64 {
    names
        .iter()
        .map(|name| summary[name].as_u64().unwrap())
        .sum()
}

/// A signal as [`Line::stored`] has it.
fn stored(item: &Item) -> String {
    let (_, subject) = item["pk"].as_s().unwrap().split_once('#').unwrap();
    let received_at = item["receivedAt"].as_s().unwrap();
    let n = item["data"].as_m().unwrap()["n"].as_n().unwrap();
    format!("{subject} {received_at} {n}")
}

/// The stored signals by their keys, but for those that clients sent.
async fn imported(app: &TestApp) -> BTreeMap<[String; 2], Item> {
    let mut by_key = BTreeMap::new();
    for item in app.items("SignalsTable").await {
        if item["data"].as_m().unwrap().contains_key("n") {
            let key = ["pk", "sk"].map(|name| item[name].as_s().unwrap().clone());
            by_key.insert(key, item);
        }
    }
    by_key
}

/// How often each signal is to be stored: once for each line, and for each source.
fn expected(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut expected = BTreeMap::new();
    let lines = sources.iter().flat_map(|source| &source.lines);
    for stored in lines.filter_map(|line| line.stored.as_ref()) {
        *expected.entry(stored.clone()).or_default() += 1;
    }
    expected
}

fn counted(items: &BTreeMap<[String; 2], Item>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for item in items.values() {
        *counted.entry(stored(item)).or_default() += 1;
    }
    counted
}

/// Imports two files at once, beside signals that clients send and that are drained.
async fn import_both(
    stack: &AppBehindProxy,
    operator: &Operator,
    generator: &mut Generator,
    sources: &[Source; 2],
    round: u64,
) {
    let before = imported(&stack.app).await;
    let runs = [0, 1].map(|n| generator.run(&sources[n]));
    let commands: Vec<_> = sources
        .iter()
        .zip(&runs)
        .map(|(source, run)| {
            operator.file(source.file, &generator.text(run));
            start(operator, source.file, run.from_line)
        })
        .collect();
    let signal = json!({"customerId": "s0", "eventType": "view", "data": {"live": round}});
    let body = json!({"signals": [signal, signal]});
    send(&stack.app, &stack.key, RequestBuilder::signals(&body)).await;
    if round.is_multiple_of(4) {
        stack.send_deferred(RequestBuilder::signals(&body)).await;
    } else {
        stack.drain().await;
    }
    let mut summaries = Vec::new();
    for (command, run) in commands.into_iter().zip(&runs) {
        let ended = end(command, run.killed_after).await;
        summaries.extend(summary(&ended).map(|summary| (summary, run)));
    }
    let after = imported(&stack.app).await;
    let mut stored = 0;
    for (summary, run) in &summaries {
        let of_lines = ["stored", "alreadyStored", "replaced", "rejected"];
        let lines = run.lines.len() - (run.from_line - 1);
        assert_eq!(count(summary, &of_lines), lines as u64, "{summary}");
        stored += count(summary, &["stored"]);
    }
    // An import that was killed has stored further ones.
    assert!(stored <= (after.len() - before.len()) as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn random_imports_beside_requests_and_drains_store_each_line_once() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let stack = AppBehindProxy::start(Plan::none()).await;
    let operator = Operator::new(&stack.app);
    let mut generator = Generator {
        random: fastrand::Rng::with_seed(seed),
        begin: days_ago(10),
        lines: 0,
    };
    let mut sources = ["monday", "tuesday"].map(|file| Source {
        file,
        lines: Vec::new(),
    });
    // More than a chunk for each.
    generator.grow(&mut sources, 1_000);
    for round in 0..ROUNDS {
        import_both(&stack, &operator, &mut generator, &sources, round).await;
        let lines = generator.random.usize(..40);
        generator.grow(&mut sources, lines);
        for source in &mut sources {
            generator.edit(source);
        }
    }
    stack.drain().await;
    let mut ends = Vec::new();
    for _ in 0..2 {
        for source in &sources {
            let lines: Vec<_> = source.lines.iter().map(|line| line.text.as_str()).collect();
            operator.file(source.file, &lines.join("\n"));
            let ended = start(&operator, source.file, 1).wait();
            assert!(summary(&ended).is_some(), "{ended:?}");
        }
        ends.push(imported(&stack.app).await);
    }
    assert_eq!(counted(&ends[0]), expected(&sources));
    assert_eq!(ends[1], ends[0], "a further run changes nothing");
    // Two signals of each request, and of each that was deferred.
    let all = stack.app.items("SignalsTable").await.len();
    let of_clients = 2 * ROUNDS + 2 * ROUNDS.div_ceil(4);
    assert_eq!((all - ends[0].len()) as u64, of_clients);
}
