//! An import that ends in the middle of its file.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::TestApp;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};

use crate::operator::Operator;
use crate::running::Running;

const IMPORT: [&str; 6] = [
    "import",
    "--account",
    "shop",
    "--received-at",
    "2026-01-01T12:00:00Z",
    "s t.ndjson",
];

/// Each hundredth line is invalid.
const LINES: usize = 3_000;
const VALID: usize = LINES - LINES / 100;

/// An import that is at line 1,601, in the fourth chunk: DynamoDB does not answer its calls.
struct Import {
    app: TestApp,
    proxy: FaultProxy,
    operator: Operator,
    running: Running,
}

impl Import {
    async fn start() -> Self {
        let app = TestApp::start();
        let held = Fault::Stall.where_body_has("held up");
        let proxy = FaultProxy::start(&app.emulator.endpoint(), held)
            .await
            .unwrap();
        let operator = Operator::of(&app).variable("AWS_ENDPOINT_URL_DYNAMODB", &proxy.endpoint());
        let line = |number: usize| match number {
            _ if number.is_multiple_of(100) => "{\"customerId\":\"c\"}\n".to_owned(),
            1_601 => json!({"customerId": "c", "eventType": "held up"}).to_string() + "\n",
            _ => {
                json!({"customerId": format!("c-{}", number % 50), "eventType": "view"}).to_string()
                    + "\n"
            }
        };
        operator.file("s t.ndjson", &(1..=LINES).map(line).collect::<String>());
        let running = Running::start(&operator, &IMPORT);
        while proxy.counts().faulted == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
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
        serde_json::from_str::<Value>(line).unwrap()["line"]
            .as_u64()
            .unwrap()
    };
    errors
        .lines()
        .map(|line| usize::try_from(number(line)).unwrap())
        .collect()
}

fn every_hundredth() -> Vec<usize> {
    (1..=LINES / 100).map(|number| number * 100).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_import_that_runs_again_stores_each_signal_once() {
    let Import {
        app,
        proxy,
        operator,
        running,
    } = Import::start().await;
    running.end("KILL");
    proxy.set(Plan::none());
    let before = count(&app).await;
    assert!((1_485..VALID).contains(&before), "{before}");
    let done = operator.run(&IMPORT).success().stdout;
    assert_eq!(
        done,
        format!("{VALID} signals stored, {} lines rejected.\n", LINES / 100)
    );
    assert_eq!(
        (count(&app).await, rejected(&operator)),
        (VALID, every_hundredth())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_import_prints_the_command_that_completes_it() {
    let Import {
        app,
        proxy,
        operator,
        running,
    } = Import::start().await;
    let (code, _, notes) = running.interrupt();
    let command = "cargo intake import --account shop --received-at 2026-01-01T12:00:00.000Z --from-line 1501 's t.ndjson'";
    let note = format!("To continue: {command}");
    assert_eq!(
        (code, notes),
        (
            Some(1),
            vec![note.clone(), "error: Interrupted.".to_owned()]
        )
    );
    let arguments = command
        .strip_prefix("cargo intake ")
        .unwrap()
        .replace("'s t.ndjson'", "FILE");
    let arguments: Vec<_> = arguments
        .split(' ')
        .map(|word| if word == "FILE" { "s t.ndjson" } else { word })
        .collect();

    // An error prints it, too.
    proxy.set(Fault::AccessDenied.always());
    let failed = operator.run(&arguments);
    assert!(
        failed.code == Some(1) && failed.stderr.starts_with(&note),
        "{failed:?}"
    );
    proxy.set(Plan::none());
    assert_eq!(
        operator.run(&arguments).success().stdout,
        "1485 signals stored, 15 lines rejected.\n"
    );
    assert_eq!(
        (count(&app).await, rejected(&operator)),
        (VALID, every_hundredth())
    );
}
