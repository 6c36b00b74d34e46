//! An import that ends in the middle of its file is completed by a second run.

use harness::TestApp;
use harness::fault_proxy::{Fault, FaultProxy, Plan};
use serde_json::{Value, json};

use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy, wait_for_fault};
use crate::support::operator::Operator;
use crate::support::running_command::RunningCommand;

const IMPORT: [&str; 8] = [
    "import",
    "--json",
    "--account",
    "shop",
    "--keep-going",
    "--received-at",
    "2026-01-01T12:00:00Z",
    "s t.ndjson",
];

/// Each hundredth line is invalid.
const LINES: usize = 3_000;
const VALID: usize = LINES - LINES / 100;

/// An import that is at line 1,601, in the fourth chunk: DynamoDB does not respond to its calls.
struct BlockedImport {
    app: TestApp,
    proxy: FaultProxy,
    operator: Operator,
    running: RunningCommand,
}

impl BlockedImport {
    async fn start() -> Self {
        let app = TestApp::start();
        let held = Fault::Hanging.where_body_has("held up");
        let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, held).await;
        let line = |number: usize| {
            let signal = if number.is_multiple_of(100) {
                json!({"customerId": "c"})
            } else if number == 1_601 {
                json!({"customerId": "c", "eventType": "held up"})
            } else {
                json!({"customerId": format!("c-{}", number % 50), "eventType": "view"})
            };
            format!("{signal}\n")
        };
        let lines: String = (1..=LINES).map(line).collect();
        operator.file("s t.ndjson", &lines);
        let running = RunningCommand::start(&operator, &IMPORT);
        wait_for_fault(&proxy).await;
        Self {
            app,
            proxy,
            operator,
            running,
        }
    }
}

/// How many signals are stored.
async fn count(app: &TestApp) -> usize {
    app.items("SignalsTable").await.len()
}

/// The numbers of the rejected lines.
fn rejected(operator: &Operator) -> Vec<usize> {
    let errors = operator.read("s t.ndjson.errors.ndjson");
    let number = |line| {
        let error: Value = serde_json::from_str(line).unwrap();
        usize::try_from(error["line"].as_u64().unwrap()).unwrap()
    };
    errors.lines().map(number).collect()
}

/// Every valid line is stored once, and every invalid one is reported once.
async fn assert_whole_file_is_imported(app: &TestApp, operator: &Operator) {
    assert_eq!(count(app).await, VALID);
    let every_hundredth: Vec<_> = (1..=LINES / 100).map(|number| number * 100).collect();
    assert_eq!(rejected(operator), every_hundredth);
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_import_prints_the_command_that_completes_it() {
    let import = BlockedImport::start().await;
    let ended = import.running.interrupt();
    let command = "cargo intake import --account shop --received-at 2026-01-01T12:00:00.000Z --keep-going --from-line 1501 's t.ndjson'";
    let note = format!("To continue: {command}");
    assert_eq!(ended.code, Some(1));
    // A slow import has said before how far it is.
    let last = ended.stderr.len().saturating_sub(2);
    assert_eq!(ended.stderr[last..], [note.as_str(), "error: Interrupted."]);
    let arguments = command
        .strip_prefix("cargo intake ")
        .unwrap()
        .replace("'s t.ndjson'", "FILE");
    let arguments: Vec<_> = arguments
        .split(' ')
        .map(|word| if word == "FILE" { "s t.ndjson" } else { word })
        .collect();

    // An import that fails prints the same command.
    import
        .proxy
        .set(Fault::Refused("AccessDeniedException").always());
    let failed = import.operator.run(&arguments);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.starts_with(&note), "{failed:?}");
    import.proxy.set(Plan::none());
    let done = import
        .operator
        .run(&[&["--json"], &arguments[..]].concat())
        .success();
    let summary = done.json().remove(0);
    let count = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!(count("alreadyStored") + count("stored"), 1_485, "{summary}");
    assert_eq!(count("rejected"), 15, "{summary}");
    assert_whole_file_is_imported(&import.app, &import.operator).await;
}
