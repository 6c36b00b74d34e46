//! `cargo dev --seed`: what is in the tables afterwards.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail like tests")]

use std::fmt::Write as _;

use emulator::{Emulator, Storage, Template};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::workspace::TestWorkspace;

const DATA: [&str; 3] = ["--seed", "--data", "target/dev.sqlite"];

/// Writes sample data: a customer, and so many signals.
fn write_sample_data(workspace: &TestWorkspace, signals: usize) {
    workspace.append("target/README", "");
    let customer = "{\"customerId\":\"c-1001\",\"customerData\":{\"firstName\":\"Ada\"}}\n";
    workspace.append("events/seed/customers.ndjson", customer);
    let mut lines = String::new();
    for n in 0..signals {
        let line = json!({"customerId": "c-1001", "eventType": "viewed", "data": {"n": n}});
        writeln!(lines, "{line}").unwrap();
    }
    workspace.append("events/seed/signals.ndjson", &lines);
}

/// The items of a table in the data file of the workspace, which no stack uses.
fn stored(workspace: &TestWorkspace, table: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let emulator = open(workspace);
    emulator
        .for_each_item(table, |item| items.push(item.clone()))
        .unwrap();
    items
}

fn open(workspace: &TestWorkspace) -> Emulator {
    let template = Template::read(&workspace.path("template.yaml")).unwrap();
    let storage = Storage::File(workspace.path("target/dev.sqlite"));
    Emulator::start(&template, &storage, 0).unwrap()
}

/// When each signal was received, in the order of the sample data.
fn received(workspace: &TestWorkspace) -> Vec<Timestamp> {
    let mut signals = stored(workspace, "SignalsTable");
    let number = |signal: &Value| -> usize {
        let n = signal.pointer("/data/M/n/N").unwrap();
        n.as_str().unwrap().parse().unwrap()
    };
    signals.sort_by_key(number);
    signals.iter().map(received_at).collect()
}

fn received_at(signal: &Value) -> Timestamp {
    let text = signal.pointer("/receivedAt/S").unwrap();
    text.as_str().unwrap().parse().unwrap()
}

/// How many days before `end` each of these times is.
fn days_before(end: Timestamp, times: &[Timestamp]) -> Vec<u64> {
    let days = |time: &Timestamp| end.duration_since(*time).as_secs() / (24 * 60 * 60);
    times.iter().map(days).collect()
}

#[test]
fn seed_stores_customers_and_signals_over_seven_days() {
    let workspace = TestWorkspace::new();
    write_sample_data(&workspace, 14);
    workspace.run_until_ready(&DATA);

    let days = days_before(Timestamp::now(), &received(&workspace));
    assert_eq!(days, [6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0]);
    let customers = stored(&workspace, "CustomersTable");
    let ids = customers.iter().map(|customer| &customer["pk"]["S"]);
    assert_eq!(ids.collect::<Vec<_>>(), ["dev#c-1001"]);
    assert!(!workspace.exists("target/dev.sqlite.seed"));
}

#[test]
fn sample_data_is_not_stored_beside_customers_of_a_data_file() {
    let workspace = TestWorkspace::new();
    write_sample_data(&workspace, 1);
    put_customer(&workspace);

    let ended = workspace.run_until_ready(&DATA);
    assert!(
        ended.stderr.contains("the sample data is not stored again"),
        "{}",
        ended.stderr
    );
    assert_eq!(received(&workspace), []);
}

#[test]
fn sample_data_of_an_interrupted_start_is_stored_again_as_of_the_same_time() {
    let workspace = TestWorkspace::new();
    write_sample_data(&workspace, 3_500);
    let running = workspace.start(&DATA);
    workspace.wait_for("target/dev.sqlite.seed");
    running.send_unix_signal("INT");
    let ended = running.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("Stopped.\n"), "{}", ended.stderr);
    assert!(!workspace.exists("target/dev.env"));
    if stored(&workspace, "CustomersTable").is_empty() {
        // It was interrupted before it had stored the first customer.
        put_customer(&workspace);
    }
    let begun_at: Timestamp = workspace.read("target/dev.sqlite.seed").parse().unwrap();

    workspace.run_until_ready(&DATA);
    let times = received(&workspace);
    assert_eq!(times.len(), 3_500, "no signal is stored twice");
    assert_eq!(times.last(), Some(&begun_at));
    let ended = workspace.run_until_ready(&DATA);
    assert!(
        ended.stderr.contains("the sample data is not stored again"),
        "{}",
        ended.stderr
    );
}

#[test]
fn mark_of_an_interrupted_start_that_cannot_be_read_is_an_error() {
    let workspace = TestWorkspace::new();
    write_sample_data(&workspace, 1);
    workspace.append("target/dev.sqlite.seed", "yesterday");
    // It is an error also where no customer is stored: another program may have made the file.
    for _ in 0..2 {
        let error = workspace.run(&DATA).error();
        assert!(
            error.starts_with("error: Cannot read ") && error.contains("dev.sqlite.seed"),
            "{error}"
        );
        assert_eq!(workspace.read("target/dev.sqlite.seed"), "yesterday");
        put_customer(&workspace);
    }
}

/// Stores a customer in the data file of the workspace.
fn put_customer(workspace: &TestWorkspace) {
    open(workspace)
        .put_item("CustomersTable", &json!({"pk": {"S": "dev#c-1001"}}))
        .unwrap();
}

#[test]
fn seed_that_cannot_be_imported_is_an_error() {
    let workspace = TestWorkspace::new();
    let missing = workspace.run(&["--seed"]).error();
    assert!(missing.starts_with("error: Cannot read "), "{missing}");
    write_sample_data(&workspace, 1);
    workspace.append(
        "events/seed/signals.ndjson",
        "{\"customerId\":\"c-1001\"}\n",
    );
    assert_eq!(
        workspace.run(&["--seed"]).error(),
        "error: The sample data could not be stored: 1 lines of events/seed are invalid, and 0 signals would already be \
         expired."
    );
}
