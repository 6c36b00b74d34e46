//! `cargo dev` as a process: its messages, its exit codes and its child processes.

mod ending;
mod output;
mod workspace;

use std::net::TcpListener;

use emulator::{Emulator, Storage, Template};
use model::timestamp::Timestamp;
use serde_json::json;
use workspace::{TestWorkspace, dev};

#[test]
fn variable_of_each_option_is_read() {
    let help = String::from_utf8(dev().arg("--help").output().unwrap().stdout).unwrap();
    let options = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next());
    // These take any path, or build a program first.
    let options: Vec<_> = options
        .filter(|option| !["contracts", "data", "env-file"].contains(option))
        .collect();

    assert!(
        options.len() > 10 && options.contains(&"seed"),
        "{options:?}"
    );
    for option in options {
        let variable = format!("INTAKE_DEV_{}", option.to_uppercase().replace('-', "_"));
        let ended = dev().env(&variable, "no value of it").output().unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(
            text.starts_with(&format!(
                "error: invalid value 'no value of it' for '--{option}"
            )),
            "{variable}: {text}"
        );
    }
}

#[test]
fn variable_has_several_values_between_commas_and_yields_to_its_option() {
    let error = |arguments: &[&str]| {
        let ended = dev()
            .env("INTAKE_DEV_HOST_NAME", "intake,http://stack")
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(ended.stderr).unwrap()
    };
    assert!(
        error(&[]).starts_with("error: invalid value 'http://stack' for '--host-name"),
        "{}",
        error(&[])
    );
    let of_option = error(&["--host-name", "intake:9000"]);
    assert!(
        of_option.starts_with("error: invalid value 'intake:9000' for '--host-name"),
        "{of_option}"
    );
}

#[test]
fn address_for_other_machines_is_named_at_the_start() {
    let workspace = TestWorkspace::new();
    assert!(
        workspace
            .run_until_ready(&["--host", "0.0.0.0"])
            .stderr
            .starts_with("Other machines can use the API and the inspector. ")
    );
    assert!(
        workspace
            .run_until_ready(&["--host", "127.0.0.2"])
            .stderr
            .starts_with("DynamoDB emulator: ")
    );
}

#[test]
fn taken_port_is_an_error_that_names_it_and_changes_nothing_of_the_stack_that_has_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let workspace = TestWorkspace::new();
    workspace.append("target/dev.env", "BASE_URL=http://127.0.0.1:1\n");
    workspace.program("cargo", "touch started; exit 1");

    for option in ["--port", "--dynamodb-port", "--inspector-port"] {
        assert_eq!(
            workspace
                .run(&[option, &port, "--data", "target/dev.sqlite"])
                .error(),
            format!(
                "error: Port {port} of 127.0.0.1 is taken: stop what listens there, or choose another with {option} \
                 (0 takes any free one)."
            )
        );
    }
    assert_eq!(
        workspace.read("target/dev.env"),
        "BASE_URL=http://127.0.0.1:1\n"
    );
    assert!(!workspace.exists("started") && !workspace.exists("target/dev.sqlite"));
}

#[test]
fn one_port_for_two_servers_is_an_error() {
    let ended = TestWorkspace::new().run(&["--port", "9123", "--dynamodb-port", "9123"]);
    assert_eq!(
        ended.error(),
        "error: --port and --dynamodb-port are both 9123: give two ports."
    );
}

#[test]
fn invalid_origin_is_an_error_with_an_example() {
    for origin in [
        "localhost:3000",
        "http://localhost:3000/",
        "http://",
        "HTTP://a.example",
        "http://a,b",
        "",
    ] {
        let ended = dev().args(["--cors", origin]).output().unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(
            text.starts_with("error: invalid value")
                && text.contains("such as http://localhost:3000"),
            "{text}"
        );
    }
}

#[test]
fn share_of_faults_beyond_0_and_1_is_an_error_with_an_example() {
    for share in ["1.1", "-0.1", "NaN", "inf", "10%", ""] {
        let ended = dev().arg(format!("--faults={share}")).output().unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(
            text.starts_with("error: invalid value") && text.contains("from 0 to 1, such as 0.1"),
            "{text}"
        );
    }
}

#[test]
fn cors_option_without_a_configuration_is_an_error() {
    let workspace = TestWorkspace::new();
    let template = workspace.read("template.yaml");
    workspace.write(
        "template.yaml",
        &template.replace("CorsConfiguration:", "Another:"),
    );
    let ended = workspace.run(&["--cors", "http://localhost:3000"]);
    assert_eq!(
        ended.error(),
        "error: --cors needs a CorsConfiguration in template.yaml, and there is none."
    );
}

#[test]
fn folder_without_a_workspace_is_an_error() {
    let workspace = TestWorkspace::new();
    workspace.remove("Cargo.toml");
    let ended = workspace.run(&[]);
    assert_eq!(
        ended.error(),
        "error: Cargo cannot read the workspace of this folder: its message above says why."
    );
}

#[test]
fn data_file_in_a_folder_that_does_not_exist_is_an_error() {
    let error = TestWorkspace::new()
        .run(&["--data", "target/new/dev.sqlite"])
        .error();
    assert!(
        error.starts_with("error: Cannot use the data file ")
            && error.ends_with("/target/new does not exist."),
        "{error}"
    );
}

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
    let template = Template::read(&workspace.path("template.yaml")).unwrap();
    workspace.append("target/README", "");
    let emulator = Emulator::start(
        &template,
        &Storage::File(workspace.path("target/dev.sqlite")),
        0,
    )
    .unwrap();
    emulator
        .put_item("CustomersTable", &json!({"pk": {"S": "dev#c-1001"}}))
        .unwrap();
    drop(emulator);

    let ended = workspace.run_until_ready(&["--seed", "--data", "target/dev.sqlite"]);
    assert!(
        ended.stderr.contains("the sample data is not stored again")
            && !workspace.exists("imported"),
        "{}",
        ended.stderr
    );
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

#[test]
fn queue_of_the_developer_does_not_reach_the_functions() {
    let workspace = TestWorkspace::new();
    let mut running = workspace.start(&["--no-queue", "--faults", "1"]);
    running.wait_for_line("Intake is running");
    let response = running.post("/api/customers", r#"{"customerId":"c","customerData":{}}"#);
    running.send_unix_signal("INT");
    assert!(
        response.starts_with("HTTP/1.1 503 "),
        "without a queue nothing is deferred: {response}"
    );
    running.end();
}
