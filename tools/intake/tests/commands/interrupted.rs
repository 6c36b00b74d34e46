//! Ctrl-C, and SIGTERM of a pipeline, while a command waits for AWS: it says how to go on.

use harness::TestApp;
use harness::fake_s3::FakeS3;
use harness::fault_proxy::{Fault, FaultProxy, Plan};

use crate::lake::CUSTOMER;
use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy, wait_for_fault};
use crate::support::key_snapshot;
use crate::support::running_command::{EndedCommand, RunningCommand};

/// Sends a signal to a command while DynamoDB does not respond to this operation.
async fn interrupt(operation: &'static str, arguments: &[&str], signal: &str) -> EndedCommand {
    let app = TestApp::start();
    let hanging = Fault::Hanging.always().for_operation(operation);
    let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, hanging).await;
    let running = RunningCommand::start(&operator, arguments);
    wait_for_fault(&proxy).await;
    running.end(signal)
}

#[tokio::test(flavor = "multi_thread")]
async fn command_that_waits_says_how_to_go_on() {
    for (signal, arguments) in [
        ("INT", &["keys", "list"][..]),
        (
            "TERM",
            &[
                "customers",
                "find",
                "--account",
                "shop",
                "--email",
                "a@example.com",
            ],
        ),
    ] {
        let ended = interrupt("Scan", arguments, signal).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = "error: Interrupted. To continue, run the same command again.";
        assert_eq!(ended.stderr.last().unwrap(), told, "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_of_an_unknown_outcome_is_named_before_the_key_snapshot_is_written() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let faults = [
        Fault::ResetBefore.always().for_operation("PutItem"),
        Fault::Hanging.always().for_operation("Scan"),
    ];
    let proxy = FaultProxy::start(&app.emulator.endpoint(), Plan::new(faults))
        .await
        .unwrap();
    let operator =
        key_snapshot::operator(&app, &s3).variable("AWS_ENDPOINT_URL_DYNAMODB", &proxy.endpoint());
    let create = ["keys", "create", "--account", "shop", "--name", "web"];
    let running = RunningCommand::start(&operator, &create);
    let told = running.note();
    assert!(
        told.contains("It is unknown whether the key key_"),
        "{told}"
    );
    let ended = running.interrupt();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let last = ended.stderr.last().unwrap();
    assert!(
        last.starts_with("error: Interrupted. It is unknown whether the key key_"),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn key_whose_write_has_no_response_is_named_with_the_command_that_revokes_it() {
    let create = ["keys", "create", "--account", "shop", "--name", "web"];
    let ended = interrupt("PutItem", &create, "INT").await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = ended.stderr.last().unwrap();
    let told = told
        .strip_prefix("error: Interrupted. It is unknown whether the key ")
        .expect(told);
    let (id, _) = told.split_once(' ').unwrap();
    assert!(
        told.ends_with(&format!("`cargo intake keys revoke {id}` revokes it.")),
        "{told}"
    );
}

/// The search of the lake ends itself at a signal; what follows does not.
#[tokio::test(flavor = "multi_thread")]
async fn command_whose_interruptible_part_is_over_ends_at_a_signal() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let hanging = Fault::Hanging.always().for_operation("Scan");
    let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, hanging).await;
    let operator = operator.variable("AWS_ENDPOINT_URL_S3", &s3.endpoint());
    // The lake is empty, so the key table says whether there is such an account.
    let erase = [&CUSTOMER[..], &["--id=ada", "--dry-run"]].concat();
    let running = RunningCommand::start(&operator, &erase);
    wait_for_fault(&proxy).await;
    let ended = running.end("INT");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = "error: Interrupted. To continue, run the same command again.";
    assert_eq!(ended.stderr.last().unwrap(), told, "{ended:?}");
}
