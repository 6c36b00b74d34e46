//! `cargo dev` as a process: how it starts, what it prints, and how it ends.

mod cargo_lambda_metadata;
mod ending;
mod options;
mod output;
mod seed;
mod workspace;

use std::net::TcpListener;

use workspace::TestWorkspace;

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

    for option in ["--port", "--dynamodb-port", "--inspector-port"] {
        assert_eq!(
            workspace
                .run(&[option, &port, "--data", "target/dev.sqlite"])
                .error(),
            format!(
                "error: Port {port} of 127.0.0.1 is in use. Stop the program that listens there, or choose another port with \
                 {option} (0 chooses a free one)."
            )
        );
    }
    assert_eq!(
        workspace.read("target/dev.env"),
        "BASE_URL=http://127.0.0.1:1\n"
    );
    assert!(!workspace.exists("target/dev.sqlite"));
}

#[test]
fn program_that_is_started_in_another_folder_finds_the_repository_that_it_is_in() {
    let workspace = TestWorkspace::new();
    workspace.remove("Cargo.toml");
    let mut running = workspace.start(&["--env-file", "own.env"]);
    running.wait_for_line("Intake is running");
    assert!(workspace.exists("own.env"));
    running.send_unix_signal("INT");
    running.end();
}

#[test]
fn stack_that_is_started_in_a_folder_of_the_repository_has_its_file_at_the_root() {
    let workspace = TestWorkspace::new();
    workspace.append("delivery/template.yaml", "not that of the service");
    let mut running = workspace.start_in("delivery", &[]);
    running.wait_for_line("Intake is running");
    assert!(workspace.exists("target/dev.env"));
    running.send_unix_signal("INT");
    running.end();
}
