//! `verify` proves the functions behind HTTP, and finds each promise that they break.

use std::sync::Arc;

use harness::fault_proxy::{Fault, FaultProxy, Plan, Rule};
use harness::{HttpGateway, TestApp};
use model::api_key::VERIFICATION_KEY_PREFIX;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::support::fault::operator_behind_proxy;
use crate::support::operator::{CommandOutput, Operator};
use crate::support::running_command::RunningCommand;

const TABLES: [&str; 5] = [
    "ApiKeysTable",
    "CustomersTable",
    "SignalsTable",
    "RejectedSignalsTable",
    "IdempotencyTable",
];

/// The text that is in the batches of the signals table and not in those of the rejected signals.
const SIGNALS: &str = "\"SignalsTable\"";

/// The second batch of signals that the functions store is a single signal, sent once.
const SINGLE_SIGNAL: u64 = 2;

/// Limits the tests that run `verify` at the same time, which sends 500 signals in a request: on a busy
/// machine, a debug build does not store those of more requests within the write budget.
static TURNS: Semaphore = Semaphore::const_new(2);

/// The functions behind HTTP, and a proxy between them and their tables.
struct Deployed {
    _turn: SemaphorePermit<'static>,
    app: Arc<TestApp>,
    gateway: HttpGateway,
    _proxy: FaultProxy,
}

impl Deployed {
    async fn start(plan: impl Into<Plan>) -> Self {
        let turn = TURNS.acquire().await.unwrap();
        let emulator = TestApp::emulator();
        let proxy = FaultProxy::start(&emulator.endpoint(), plan).await.unwrap();
        let keys = emulator.endpoint();
        let app = Arc::new(TestApp::with_dynamodb(
            emulator,
            &keys,
            &proxy.endpoint(),
            None,
        ));
        Self {
            _turn: turn,
            gateway: HttpGateway::start(&app).await,
            app,
            _proxy: proxy,
        }
    }

    fn operator(&self) -> Operator {
        Operator::new(&self.app).variable("BASE_URL", &self.gateway.base_url())
    }

    fn verify(&self, arguments: &[&str]) -> CommandOutput {
        self.operator()
            .run(&[&["verify", "--yes", "--signals", "200"], arguments].concat())
    }

    async fn assert_empty(&self) {
        for table in TABLES {
            assert_eq!(self.app.items(table).await.len(), 0, "{table}");
        }
    }
}

/// The checks with this result.
fn checks_with<'a>(report: &'a Value, result: &str) -> Vec<&'a Value> {
    report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["result"] == result)
        .collect()
}

/// The names of the checks with this result.
fn names_with<'a>(report: &'a Value, result: &str) -> Vec<&'a str> {
    checks_with(report, result)
        .into_iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect()
}

/// The report prints no link: a reader looks the promise of a failed check up by its heading.
fn assert_promises_are_headings(report: &Value) {
    let headings: Vec<&str> = include_str!("../../../../docs/api.md")
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim())
        .collect();
    for check in report["checks"].as_array().unwrap() {
        let promise = check["promise"].as_str().unwrap();
        assert!(headings.contains(&promise), "{promise}: {headings:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_of_a_working_stack_holds_and_leaves_nothing() {
    let deployed = Deployed::start(Plan::none()).await;
    let operator = deployed.operator();
    let run = operator.run(&[
        "verify",
        "--yes",
        "--signals",
        "200",
        "--json",
        "--report",
        "report.md",
    ]);
    let report = run.json().remove(0);
    assert_eq!(checks_with(&report, "failed"), Vec::<&Value>::new());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(
        names_with(&report, "skipped"),
        [
            "404: no route",
            "403: another host name",
            "413: a body of 11 MB"
        ]
    );
    assert!(checks_with(&report, "held").len() >= 16, "{report}");
    assert_promises_are_headings(&report);
    assert_eq!(report["cleanup"]["left"], json!([]));
    deployed.assert_empty().await;
    let markdown = operator.read("report.md");
    assert!(
        markdown
            .lines()
            .any(|line| line.starts_with("held") && line.contains("No signal is stored twice")),
        "{markdown}"
    );
    assert!(!markdown.contains(VERIFICATION_KEY_PREFIX), "{markdown}");
    assert!(
        !report.to_string().contains(VERIFICATION_KEY_PREFIX),
        "{report}"
    );
}

/// What the role of CI may do with a table, by deploy/deployment-role.yaml.
fn operations_of_ci(table: &str) -> Vec<String> {
    let template = include_str!("../../../../deploy/deployment-role.yaml");
    let template = emulator::yaml::parse(template).unwrap();
    let policy = &template["Resources"]["VerificationRole"]["Properties"]["Policies"][0];
    let statements = policy["PolicyDocument"]["Statement"].as_array().unwrap();
    let about_table = |statement: &&Value| statement["Resource"].to_string().contains(table);
    statements
        .iter()
        .filter(about_table)
        .flat_map(|statement| statement["Action"].as_array().unwrap())
        .filter_map(|action| action.as_str().unwrap().strip_prefix("dynamodb:"))
        .map(ToOwned::to_owned)
        .collect()
}

/// A refusal of each operation that the role of CI does not permit.
fn refusals_of_ci() -> Vec<Rule> {
    let operations = [
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "DescribeTable",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    ];
    let mut refusals = Vec::new();
    for table in TABLES {
        let permitted = operations_of_ci(table);
        assert_eq!(permitted.len(), 2, "{table}: {permitted:?}");
        for operation in operations {
            if !permitted.iter().any(|one| one == operation) {
                let refusal = Fault::Refused("AccessDeniedException").where_body_has(table);
                refusals.push(refusal.for_operation(operation));
            }
        }
    }
    refusals
}

/// The response to the put of the key is lost: its second attempt is refused, and the item in that response
/// tells the first one. The role may not read it.
#[tokio::test(flavor = "multi_thread")]
async fn key_of_verify_whose_response_is_lost_is_used_and_removed_with_the_role_of_ci() {
    let deployed = Deployed::start(Plan::none()).await;
    let lost = Fault::ResetAfter.on_call(1).for_operation("PutItem");
    let plan = Plan::new([lost].into_iter().chain(refusals_of_ci()));
    let faulted = operator_behind_proxy(&deployed.app, plan).await;
    let operator = faulted
        .operator
        .variable("BASE_URL", &deployed.gateway.base_url());
    let run = operator.run(&["verify", "--yes", "--signals", "1", "--json"]);
    assert_eq!(faulted.proxy.counts().faulted, 1);
    let report = run.json().remove(0);
    assert!(
        names_with(&report, "held").contains(&"Ping with a valid key"),
        "{report}"
    );
    assert_eq!(report["cleanup"]["left"], json!([]));
    deployed.assert_empty().await;
}

/// Every put takes effect, and none is acknowledged: the role may not look.
#[tokio::test(flavor = "multi_thread")]
async fn key_of_verify_of_an_unknown_outcome_is_removed_with_the_role_of_ci() {
    let deployed = Deployed::start(Plan::none()).await;
    let lost = Fault::ErrorAfter.always().for_operation("PutItem");
    let plan = Plan::new([lost].into_iter().chain(refusals_of_ci()));
    let faulted = operator_behind_proxy(&deployed.app, plan).await;
    let error = faulted
        .operator
        .variable("BASE_URL", &deployed.gateway.base_url())
        .run(&["verify", "--yes", "--signals", "1"])
        .error_message();
    assert!(error.contains("It is unknown whether the key"), "{error}");
    deployed.assert_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_that_cannot_be_removed_fails_verify_and_is_named() {
    let deployed = Deployed::start(Plan::none()).await;
    let refused = Fault::Refused("AccessDeniedException")
        .always()
        .for_operation("DeleteItem");
    let faulted = operator_behind_proxy(&deployed.app, refused).await;
    let operator = faulted
        .operator
        .variable("BASE_URL", &deployed.gateway.base_url());
    let run = operator.run(&["verify", "--yes", "--signals", "1", "--json"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let end = "Something was not removed: the report says what.\n";
    assert!(run.stderr.ends_with(end), "{run:?}");
    let report = run.json().remove(0);
    let left = report["cleanup"]["left"][0].as_str().unwrap();
    assert!(left.starts_with("API key: "), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn report_that_cannot_be_written_is_printed() {
    let deployed = Deployed::start(Plan::none()).await;
    let verify = ["verify", "--yes", "--signals", "1", "--json"];
    let operator = deployed.operator();
    let run = operator.run(&[&verify[..], &["--report", "missing/report.md"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("Cannot write missing/report.md"),
        "{run:?}"
    );
    let report = run.json().remove(0);
    assert_eq!(report["cleanup"]["left"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_signal_fails_verify_and_is_named() {
    let lost = Fault::Swallowed(std::time::Duration::ZERO)
        .on_call(SINGLE_SIGNAL)
        .where_body_has(SIGNALS);
    let deployed = Deployed::start(lost).await;
    let run = deployed.verify(&["--json"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let report = run.json().remove(0);
    assert_eq!(
        names_with(&report, "failed"),
        ["Every acknowledged signal is stored"]
    );
    let failed = checks_with(&report, "failed")[0];
    let detail = failed["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("1 case(s); the first: signal 0 of the request with requestIdentifier "),
        "{detail}"
    );
    deployed.assert_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_records_of_requests_that_failed_are_removed_too() {
    let deployed = Deployed::start(
        Fault::Refused("AccessDeniedException")
            .always()
            .for_operation("BatchWriteItem")
            .where_body_has(SIGNALS),
    )
    .await;
    // The functions would defer these signals, and `verify` would wait for their drain.
    deployed
        .app
        .sqs
        .faults()
        .set(Fault::InternalServerError.always());
    assert_eq!(deployed.verify(&[]).code, Some(1));
    deployed.assert_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_that_gets_sigterm_leaves_nothing() {
    let deployed = Deployed::start(Plan::none()).await;
    let verifying = RunningCommand::start(
        &deployed.operator(),
        &["verify", "--yes", "--signals", "30000"],
    );
    loop {
        let note = verifying.note();
        // The second of three steps sends requests.
        if note.starts_with("2/3") {
            break;
        }
    }
    let ended = verifying.end("TERM");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let last = ended.stderr.last().unwrap();
    assert!(
        last.starts_with("error: Interrupted. Removed: 1 API key, "),
        "{ended:?}"
    );
    deployed.assert_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_of_an_address_without_the_api_is_an_error_and_leaves_nothing() {
    let deployed = Deployed::start(Plan::none()).await;
    let run = deployed.verify(&["--base-url", "http://127.0.0.1:1"]);
    assert!(run.error_message().starts_with("The API does not respond"));
    deployed.assert_empty().await;
}
