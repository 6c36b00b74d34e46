//! A process that gives credentials, and hangs or gives something else: the operator hears it, in a bounded time.

use serde_json::json;

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

/// What it prints may be a secret, so the error does not have it.
#[test]
fn process_that_prints_no_json_is_told_without_what_it_prints() {
    let printed = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI";
    let error = operator_with_process(&format!("echo {printed}"))
        .run(&CREATE)
        .error_message();
    let told = "No AWS credentials from the profile default or the environment: Error retrieving credentials from external \
                process, could not parse response: ";
    assert!(error.starts_with(told), "{error}");
    assert!(!error.contains("wJalrXUtnFEMI"), "{error}");
}

#[test]
fn process_that_hangs_is_told_while_the_command_waits() {
    let operator = operator_with_process("sleep 90");
    let running = RunningCommand::start(&operator, &CREATE);
    let waiting = "The provider of the AWS credentials has not responded yet. Waiting for up to 55 s. Ctrl-C ends the command.";
    assert_eq!(running.note(), waiting);
    assert_eq!(running.interrupt().code, Some(1));
}

#[test]
fn process_that_gives_a_key_with_a_line_end_is_told_without_the_key() {
    let operator = operator_with_process("cat given");
    let given = json!({"Version": 1, "AccessKeyId": "AKIA", "SecretAccessKey": "wJalr\n"});
    operator.file("given", &given.to_string());
    let error = operator.run(&CREATE).error_message();
    assert!(!error.contains("wJalr"), "{error}");
    assert!(
        error.ends_with(
            "a key or a token has a line end, a blank or another character that no key has."
        ),
        "{error}"
    );
}
