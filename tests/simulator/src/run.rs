//! One run: everything that its seed decides, from the first request to the check.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use consistency::checker::{self, Report, Subject};
use consistency::generated::{customer_key, subject_in_account};
use consistency::stored;
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};

use crate::aws::{Aws, Counts};
use crate::clients::{Client, Clients, batches, updates};
use crate::cut::Cut;
use crate::deliveries;
use crate::environment::{FunctionKind, RETENTION};
use crate::keys::{ACCOUNTS, Keys};
use crate::lambda::Lambda;
use crate::log_check;
use crate::operators;
use crate::promises::{BrokenPromise, Promise};
use crate::scenario::Scenario;
use crate::trace::{Line, Trace};

/// How many deliveries of the queue are under way at once: template.yaml's `MaximumConcurrency`.
const DRAINS: usize = 2;

/// How long the drain has for what is left when the faults have ended.
const DRAIN_LIMIT: Duration = Duration::from_mins(10);

/// What a run was like.
#[derive(Debug, Default)]
pub struct RunResult {
    pub counts: Counts,
    /// The time that was simulated.
    pub simulated: Duration,
    /// A hash of every call of the run.
    pub trace: u64,
    /// The promises that were broken, the first one first.
    pub broken: Vec<BrokenPromise>,
    /// What happened, if that was asked for.
    pub lines: Vec<Line>,
    /// The calls on DynamoDB, with its responses, if that was asked for.
    pub recorded: Vec<Value>,
}

/// How a seed is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What is left out.
    pub cuts: Vec<Cut>,
    /// Whether the run records what happened: the lines of its story, and the calls on DynamoDB.
    pub keeps_all: bool,
}

/// Runs a seed.
///
/// # Panics
/// When the simulation itself has a defect.
pub fn run_seed(seed: u64, options: &RunOptions) -> RunResult {
    let random = fastrand::Rng::with_seed(seed);
    in_virtual_time(seed, run(random, options))
}

/// Does this in one thread and in virtual time. What the functions draw follows from the seed.
pub(crate) fn in_virtual_time<T>(seed: u64, work: impl Future<Output = T>) -> T {
    fastrand::seed(seed);
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O");
    LocalSet::new().block_on(&runtime, work)
}

async fn run(mut random: fastrand::Rng, options: &RunOptions) -> RunResult {
    let mut scenario = Scenario::random(&mut random);
    for cut in &options.cuts {
        cut.apply(&mut scenario);
    }
    let trace = if options.keeps_all {
        Trace::with_lines()
    } else {
        Trace::default()
    };
    let aws = Aws::new(scenario.faults.clone(), random.u64(..), trace);
    if options.keeps_all {
        aws.state().tables.record();
    }
    let _events = log_check::read_events(aws.clone());
    let mut lambda =
        |kind| Lambda::new(aws.clone(), kind, scenario.lifetimes.clone(), random.fork());
    let functions = [
        FunctionKind::Signals,
        FunctionKind::Customers,
        FunctionKind::Overflow,
    ]
    .map(&mut lambda);
    let clients = Rc::new(Clients {
        aws: aws.clone(),
        keys: Rc::new(Keys::create(&aws, &mut random)),
        record: RefCell::default(),
        scenario,
    });
    send_and_drain(&clients, &functions, &mut random).await;
    let report = check(&clients);
    result(&clients, &report)
}

/// Runs all clients and operators to their end, and drains the queue.
async fn send_and_drain(
    clients: &Rc<Clients>,
    functions: &[Lambda; 3],
    random: &mut fastrand::Rng,
) {
    let [signals, customers, overflow] = functions;
    let scenario = &clients.scenario;
    let mut tasks = Vec::new();
    for number in 0..scenario.signal_clients {
        let client = Client::new(number, ACCOUNTS, signals.clone(), random.fork());
        if !scenario.absent_clients.contains(&number) {
            tasks.push(spawn_local(batches::run(clients.clone(), client)));
        }
    }
    for number in 0..scenario.customer_clients {
        let number = scenario.signal_clients + number;
        // In contended runs all of them update the customers of one account.
        let accounts = if scenario.customers < 3 { 1 } else { ACCOUNTS };
        let client = Client::new(number, accounts, customers.clone(), random.fork());
        if !scenario.absent_clients.contains(&number) {
            tasks.push(spawn_local(updates::run(clients.clone(), client)));
        }
    }
    if let Some(pause) = scenario.import_pause {
        for account in 0..ACCOUNTS {
            let import = operators::import(clients.clone(), account, pause, random.fork());
            tasks.push(spawn_local(import));
        }
    }
    for _ in 0..scenario.erasing_operators {
        let erasures = operators::erase(clients.clone(), random.fork());
        tasks.push(spawn_local(erasures));
    }
    if let Some(at) = scenario.revocation_at {
        tasks.push(spawn_local(operators::revoke(clients.clone(), at)));
    }
    let is_over = Rc::new(Cell::new(false));
    let drains = deliveries::start(
        DRAINS,
        &clients.aws,
        overflow,
        random,
        &is_over,
        DRAIN_LIMIT,
    );
    for task in tasks {
        task.await.expect("a client does not panic");
    }
    // Requests whose clients have hung up are served to their end.
    tokio::time::sleep(Duration::from_secs(20)).await;
    clients.aws.state().plan.end();
    is_over.set(true);
    for drain in drains {
        drain.await.expect("a drain does not panic");
    }
}

/// Compares what clients and operators recorded with what is stored.
fn check(clients: &Clients) -> Report {
    let state = clients.aws.state();
    let for_each = |table: &str, each: &mut dyn FnMut(&mut Value)| {
        for item in state.tables.items(table) {
            each(&mut Value::Object(item.clone()));
        }
    };
    let stored = stored::read(for_each, RETENTION);
    let record = &mut *clients.record.borrow_mut();
    record.unkept = state.unkept;
    checker::check(record, &stored)
}

fn result(clients: &Clients, report: &Report) -> RunResult {
    let simulated = clients.aws.elapsed();
    let state = &mut *clients.aws.state();
    let remaining = state.queues.remaining();
    if remaining > 0 {
        let text = format!("{remaining} messages are not drained ten minutes after the last fault");
        let about = "overflow".to_owned();
        state.promises.note(Promise::Drained, text, about);
    }
    if let Some(message) = state.queues.dead_letters.first() {
        let text = format!("a message is in the dead-letter queue: {message:?}");
        let about = "overflow".to_owned();
        state.promises.note(Promise::Drained, text, about);
    }
    if let Some(first) = report.0.first() {
        let promise = Promise::Stored(first.violation);
        let text = report.to_string();
        state.promises.note(promise, text, about(first.subject));
    }
    RunResult {
        counts: state.counts.clone(),
        simulated,
        trace: state.trace.hash(),
        broken: state.promises.broken().to_vec(),
        lines: state.trace.take_lines(),
        recorded: state.tables.take_recorded(),
    }
}

/// A text that the lines about a subject have in them.
fn about(subject: Subject) -> String {
    match subject {
        Subject::Request(number) => format!("request {number};"),
        Subject::Customer(number) => {
            let [account, customer] = subject_in_account(number);
            customer_key(account, customer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliveries::BATCH_SIZE;
    use crate::lambda::{DRAIN_TIMEOUT, TIMEOUT};

    #[test]
    fn functions_and_their_queue_are_configured_as_in_the_template() {
        let template = include_str!("../../../template.yaml");
        let values = |name| {
            let lines = template.lines().map(str::trim);
            let values: Vec<&str> = lines.filter_map(|line| line.strip_prefix(name)).collect();
            values
        };
        let timeouts = [TIMEOUT, DRAIN_TIMEOUT].map(|timeout| timeout.as_secs().to_string());
        assert_eq!(values("Timeout: "), timeouts);
        assert_eq!(values("BatchSize: "), [BATCH_SIZE.to_string()]);
        let scaling = format!("{{MaximumConcurrency: {DRAINS}}}");
        assert_eq!(values("ScalingConfig: "), [scaling]);
    }

    #[test]
    fn seed_is_the_same_run_again_call_by_call_with_and_without_its_story() {
        // It has faults, kills and deferrals.
        let seed = 3;
        let [first, second] = [false, true].map(|keeps_all| {
            let options = RunOptions {
                keeps_all,
                ..RunOptions::default()
            };
            run_seed(seed, &options)
        });
        assert_eq!(
            [first.trace, first.counts.calls, first.counts.requests],
            [second.trace, second.counts.calls, second.counts.requests]
        );
        assert!(first.broken.is_empty(), "{:?}", first.broken);
        let counts = &first.counts;
        let occurred = [counts.calls, counts.faulted, counts.kills, counts.deferred];
        assert!(occurred.iter().all(|count| *count > 0), "{counts:?}");
        assert!(!second.lines.is_empty());
    }
}
