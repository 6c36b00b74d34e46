//! `cargo dev --seed`, with a script in place of `cargo intake`.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail like tests")]

use emulator::{Emulator, Storage, Template};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::workspace::TestWorkspace;

#[test]
fn seed_imports_copies_with_signals_over_seven_days() {
    let workspace = TestWorkspace::new();
    workspace.append("events/seed/customers.ndjson", "customer\n");
    workspace.append(
        "events/seed/signals.ndjson",
        "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n",
    );
    workspace.cargo_that_builds_intake(
        "echo \"$*\" >> calls; cat \"$2\" >> lines; env > environment; exit 0",
    );
    workspace.run_until_ready(&["--seed"]);

    let calls = workspace.read("calls");
    let time = |call: &str| -> Timestamp { call.rsplit(' ').next().unwrap().parse().unwrap() };
    let days = |call| Timestamp::now().duration_since(time(call)).as_secs() / (24 * 60 * 60);
    assert_eq!(
        calls.lines().map(days).collect::<Vec<_>>(),
        [7, 6, 5, 4, 3, 2, 1, 0],
        "{calls}"
    );
    assert!(
        calls
            .lines()
            .all(|call| call.contains(" --account dev ") && !call.contains("events/seed")),
        "{calls}"
    );
    assert_eq!(
        workspace.read("lines"),
        "customer\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n"
    );
    let environment = workspace.read("environment");
    for expected in [
        "\nAWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:",
        "\nAWS_ACCESS_KEY_ID=",
        "\nAWS_REGION=",
    ] {
        assert!(
            format!("\n{environment}").contains(expected),
            "{expected}: {environment}"
        );
    }
}

#[test]
fn sample_data_is_not_stored_beside_customers_of_a_data_file() {
    let workspace = TestWorkspace::new();
    workspace.append("events/seed/customers.ndjson", "customer\n");
    workspace.append("events/seed/signals.ndjson", "signal\n");
    workspace.cargo_that_builds_intake("touch imported; exit 0");
    workspace.append("target/README", "");
    put_customer(&workspace);

    let ended = workspace.run_until_ready(&["--seed", "--data", "target/dev.sqlite"]);
    assert!(
        ended.stderr.contains("the sample data is not stored again")
            && !workspace.exists("imported"),
        "{}",
        ended.stderr
    );
}

#[test]
fn sample_data_of_an_interrupted_start_is_stored_again_as_of_the_same_time() {
    let workspace = TestWorkspace::new();
    workspace.append("events/seed/customers.ndjson", "customer\n");
    workspace.append("events/seed/signals.ndjson", "0\n1\n2\n3\n4\n5\n6\n");
    workspace.append("target/README", "");
    // The import of the second day does not end in the first start.
    workspace.cargo_that_builds_intake(
        "for last; do :; done; echo $last >> calls; grep -q 1 \"$2\" && [ ! -e hanging ] && touch hanging && exec sleep 600; exit 0",
    );
    let arguments = ["--seed", "--data", "target/dev.sqlite"];
    let running = workspace.start(&arguments);
    workspace.wait_for("hanging");
    running.send_unix_signal("INT");
    running.end();
    // `cargo intake` would have stored it.
    put_customer(&workspace);
    let interrupted = workspace.read("calls");

    workspace.run_until_ready(&arguments);
    let calls = workspace.read("calls");
    let calls = calls.strip_prefix(&interrupted).unwrap();
    assert!(calls.starts_with(&interrupted), "{interrupted}{calls}");
    assert_eq!(calls.lines().count(), 8, "{calls}");

    let ended = workspace.run_until_ready(&arguments);
    assert!(
        ended.stderr.contains("the sample data is not stored again"),
        "{}",
        ended.stderr
    );
}

/// Stores a customer in the data file of the workspace.
fn put_customer(workspace: &TestWorkspace) {
    let template = Template::read(&workspace.path("template.yaml")).unwrap();
    let storage = Storage::File(workspace.path("target/dev.sqlite"));
    let emulator = Emulator::start(&template, &storage, 0).unwrap();
    emulator
        .put_item("CustomersTable", &json!({"pk": {"S": "dev#c-1001"}}))
        .unwrap();
}

#[test]
fn seed_that_cannot_be_imported_is_an_error() {
    let workspace = TestWorkspace::new();
    assert!(
        workspace
            .run(&["--seed"])
            .error()
            .starts_with("error: Cannot read ")
    );
    workspace.append("events/seed/customers.ndjson", "");
    workspace.append("events/seed/signals.ndjson", "");
    workspace.cargo_that_builds_intake("exit 1");
    assert!(
        workspace
            .run(&["--seed"])
            .error()
            .starts_with("error: The sample data could not be stored")
    );
}
