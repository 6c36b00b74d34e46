//! `import` stores each signal of a source once, however its file has changed since the last run.

use harness::TestApp;
use harness::fault_proxy::Fault;
use serde_json::{Value, json};

use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy};
use crate::support::operator::{Operator, json_lines};

const TIME: &str = "2026-11-20T12:00:00Z";

fn run(operator: &Operator, more: &[&str]) -> Value {
    let import = [
        "import",
        "--account",
        "shop",
        "--received-at",
        TIME,
        "--json",
    ];
    let done = operator.run(&[&import[..], more].concat()).success();
    done.json().remove(0)
}

/// The numbers of stored signals and of those that were stored before.
fn counts(summary: &Value) -> [u64; 2] {
    ["stored", "alreadyStored"].map(|name| summary[name].as_u64().unwrap())
}

fn line(n: usize) -> String {
    let signal = json!({"customerId": "ada", "eventType": "view", "data": {"n": n}});
    format!("{signal}\n")
}

fn lines(numbers: impl IntoIterator<Item = usize>) -> String {
    numbers.into_iter().map(line).collect()
}

/// The `n` of the stored signals, in the order of the history.
async fn history(app: &TestApp) -> Vec<usize> {
    let items = app.history("shop", "ada").await;
    let n = |item: &harness::Item| item["data"].as_m().unwrap()["n"].as_n().unwrap().clone();
    items.iter().map(|item| n(item).parse().unwrap()).collect()
}

/// Signals with one time, in five chunks.
#[tokio::test(flavor = "multi_thread")]
async fn signals_that_are_stored_at_one_time_are_read_once_and_again_after_a_failure() {
    let app = TestApp::start();
    let failing = Fault::InternalServerError.on_call(1);
    let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, failing).await;
    operator.file("s", &lines(0..2_200));
    assert_eq!(counts(&run(&operator, &["s"])), [2_200, 0]);
    // Two, and another one beside a call that is slow.
    let calls = proxy.counts().calls_of("Query");
    assert!((2..5).contains(&calls), "{calls} calls");
    assert_eq!(counts(&run(&operator, &["s"])), [0, 2_200]);
}

#[tokio::test]
async fn equal_lines_of_two_sources_are_two_signals() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    std::fs::create_dir(operator.home.path().join("folder")).unwrap();
    for file in ["monday", "tuesday", "folder/monday"] {
        operator.file(file, &line(1));
    }
    assert_eq!(counts(&run(&operator, &["monday"])), [1, 0]);
    assert_eq!(counts(&run(&operator, &["tuesday"])), [1, 0]);
    assert_eq!(counts(&run(&operator, &["folder/monday"])), [0, 1]);
    let as_monday = ["tuesday", "--source", "monday"];
    assert_eq!(counts(&run(&operator, &as_monday)), [0, 1]);
    assert_eq!(history(&app).await, [1, 1]);
}

#[tokio::test]
async fn dry_run_counts_what_an_import_would_store_and_stores_nothing() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    operator.file("s", &lines(0..3));
    run(&operator, &["s"]);
    operator.file("s", &lines(0..5));
    let dry_run = run(&operator, &["s", "--dry-run"]);
    assert_eq!(counts(&dry_run), [2, 3]);
    assert_eq!(dry_run["dryRun"], true);
    assert_eq!(history(&app).await, [0, 1, 2]);

    let customer = |id: &str, city: &str, zip: &str, day: u8| {
        let data = json!({"city": city, "zip": zip});
        let updated_at = format!("2026-11-{day:02}T12:00:00Z");
        format!(
            "{}\n",
            json!({"customerId": id, "customerData": data, "updatedAt": updated_at})
        )
    };
    operator.file("c", &customer("ada", "Ulm", "1", 20));
    run(&operator, &["c"]);
    let before = app.items("CustomersTable").await;
    let errors = "errors of the run that stored\n";
    operator.file("c.errors.ndjson", errors);
    let lines = [
        "not JSON\n".to_owned(),
        customer("ada", "Ulm", "1", 20),
        customer("ada", "Rom", "2", 19),
        customer("ada", "Rom", "2", 21),
        customer("bob", "Rom", "2", 19),
    ];
    operator.file("c", &lines.concat());
    let dry_run = run(&operator, &["c", "--dry-run", "--keep-going"]);
    assert_eq!(operator.read("c.errors.ndjson"), errors);
    assert_eq!(dry_run["errorFile"], "c.dry-run.errors.ndjson");
    let dry_errors = json_lines(&operator.read("c.dry-run.errors.ndjson"));
    assert_eq!(dry_errors[0]["line"], 1);
    assert_eq!(dry_run["stored"], 2, "{dry_run}");
    assert_eq!(dry_run["nothingNewer"], 2, "{dry_run}");
    assert_eq!(app.items("CustomersTable").await, before);
}
