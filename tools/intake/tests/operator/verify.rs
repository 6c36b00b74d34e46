//! `verify`, over the functions behind HTTP.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{HttpGateway, TestApp};

use crate::operator::{CommandOutput, Operator};
use crate::running::Running;

const TABLES: [&str; 5] = [
    "ApiKeysTable",
    "CustomersTable",
    "SignalsTable",
    "RejectedSignalsTable",
    "IdempotencyTable",
];

/// Batches of the table of signals, not of that of rejected ones.
const SIGNALS: &str = "\"SignalsTable\"";

/// The second batch of signals that the functions store is a single signal, sent once.
const SINGLE_SIGNAL: u64 = 2;

/// The functions behind HTTP, and a proxy between them and their tables.
struct Deployed {
    app: Arc<TestApp>,
    gateway: HttpGateway,
    _proxy: FaultProxy,
}

impl Deployed {
    async fn with(plan: impl Into<Plan>) -> Self {
        let emulator = TestApp::emulator();
        let proxy = FaultProxy::start(&emulator.endpoint(), plan).await.unwrap();
        let keys = emulator.endpoint();
        let app = Arc::new(TestApp::over(emulator, &keys, &proxy.endpoint(), None));
        Self {
            gateway: HttpGateway::start(&app).await,
            app,
            _proxy: proxy,
        }
    }

    fn operator(&self) -> Operator {
        Operator::of(&self.app).variable("BASE_URL", &self.gateway.base_url())
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

/// The names and details of the checks with this result.
fn with_result(report: &Value, result: &str) -> Vec<(String, String)> {
    let checks = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["result"] == result);
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
    checks
        .map(|check| (text(check, "name"), text(check, "detail")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_of_a_working_stack_holds_and_leaves_nothing() {
    let deployed = Deployed::with(Plan::none()).await;
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
    assert_eq!(with_result(&report, "failed"), []);
    assert_eq!(run.code, Some(0), "{run:?}");
    let skipped: Vec<String> = with_result(&report, "skipped")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        skipped,
        [
            "404: no route",
            "403: another host name",
            "413: a body of 11 MB"
        ]
    );
    assert!(with_result(&report, "held").len() >= 16, "{report}");
    assert_eq!(report["cleanup"]["left"], json!([]));
    deployed.assert_empty().await;
    let markdown = operator.read("report.md");
    assert!(
        markdown
            .lines()
            .any(|line| line.starts_with("held") && line.contains("No signal is stored twice")),
        "{markdown}"
    );
    assert!(!markdown.contains("intake_sk_"), "{markdown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_signal_fails_verify_and_is_named() {
    let lost = Fault::Swallowed(std::time::Duration::ZERO)
        .at(SINGLE_SIGNAL)
        .about(SIGNALS);
    let deployed = Deployed::with(lost).await;
    let run = deployed.verify(&["--json"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let report = run.json().remove(0);
    let failed = with_result(&report, "failed");
    assert_eq!(
        failed
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
        ["Every acknowledged signal is stored"]
    );
    assert!(
        failed[0]
            .1
            .starts_with("1 case(s); the first: signal 0 of the request with requestIdentifier "),
        "{failed:?}"
    );
    deployed.assert_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_records_of_requests_that_failed_are_removed_too() {
    let deployed = Deployed::with(
        Fault::AccessDenied
            .always()
            .of("BatchWriteItem")
            .about(SIGNALS),
    )
    .await;
    assert_eq!(deployed.verify(&[]).code, Some(1));
    deployed.assert_empty().await;
}

/// Runs it and sends it this signal while it sends requests.
async fn assert_nothing_is_left_after(signal: &str) {
    let deployed = Deployed::with(Plan::none()).await;
    let verifying = Running::start(
        &deployed.operator(),
        &["verify", "--yes", "--signals", "30000"],
    );
    while !verifying.note().starts_with("2/3") {}
    let (code, _, notes) = verifying.end(signal);
    assert_eq!(code, Some(1), "{notes:?}");
    assert!(
        notes
            .last()
            .unwrap()
            .starts_with("error: Interrupted. Removed: 1 API key, "),
        "{notes:?}"
    );
    deployed.assert_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_leaves_nothing_after_sigterm() {
    assert_nothing_is_left_after("TERM").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_of_an_address_without_the_api_is_an_error_and_leaves_nothing() {
    let deployed = Deployed::with(Plan::none()).await;
    let run = deployed.verify(&["--base-url", "http://127.0.0.1:1"]);
    assert!(run.error_message().starts_with("The API does not answer"));
    deployed.assert_empty().await;
}
