//! Programs and services that give credentials, and hang or give something else: the operator hears it, in a
//! bounded time.

use std::time::{Duration, Instant};

use crate::aws_profiles::CREATE;
use crate::support::operator::Operator;
use crate::support::running_command::RunningCommand;

fn operator_with_process(process: &str) -> Operator {
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join(".aws")).unwrap();
    let config = format!("[default]\nregion = eu-central-1\ncredential_process = {process}\n");
    operator.file(".aws/config", &config);
    operator
}

const SEE_THE_PROCESS: &str = "Run its credential_process in a shell to see what that prints.";

/// What it prints may be a secret, so the error does not have it.
#[test]
fn process_that_prints_no_json_is_told_with_the_way_to_see_what_it_prints() {
    let printed = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI";
    let error = operator_with_process(&format!("echo {printed}"))
        .run(&CREATE)
        .error_message();
    let told = "No AWS credentials from the profile default: Error retrieving credentials from external process, could not parse \
                response: ";
    assert!(error.starts_with(told), "{error}");
    assert!(error.ends_with(SEE_THE_PROCESS), "{error}");
    assert!(!error.contains("wJalrXUtnFEMI"), "{error}");
}

/// The process would end without an error, after the command.
#[test]
fn process_that_hangs_is_told_while_the_command_waits_and_ends_it_after_a_minute() {
    let operator = operator_with_process("sleep 90");
    let running = RunningCommand::start(&operator, &CREATE);
    let waiting = "AWS credentials: what gives them does not answer. Waiting, for 55 s at most; Ctrl-C ends the command.";
    assert_eq!(running.note(), waiting);
    let ended = running.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = format!(
        "error: No AWS credentials from the profile default: credentials provider timed out after 60 seconds. {SEE_THE_PROCESS}"
    );
    assert_eq!(ended.stderr, [told]);
}

/// Runs a command whose only credentials would be those of the metadata service at this port. Returns how
/// long it took, and its error.
fn run_with_metadata_at(port: u16) -> (Duration, String) {
    let operator = Operator::with_nothing()
        .variable("AWS_EC2_METADATA_DISABLED", "false")
        .variable(
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            &format!("http://127.0.0.1:{port}"),
        )
        .variable("AWS_REGION", "eu-central-1");
    let began = Instant::now();
    let error = operator.run(&CREATE).error_message();
    (began.elapsed(), error)
}

#[test]
fn metadata_service_that_hangs_is_told_after_two_seconds() {
    // Connections wait in the backlog, and are never accepted.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (without_waiting, _) = run_with_metadata_at(1);
    let (waiting, error) = run_with_metadata_at(silent.local_addr().unwrap().port());
    let waited = waiting.saturating_sub(without_waiting);
    assert!(waited < Duration::from_secs(2), "{waited:?}");
    assert!(error.starts_with("No AWS credentials. Sign in"), "{error}");
    assert!(
        error.contains("the metadata service: ") && error.contains("timeout"),
        "{error}"
    );
}
