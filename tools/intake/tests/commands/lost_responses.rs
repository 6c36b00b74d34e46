//! Writes with a condition that take effect, and whose responses are lost: a command takes its own earlier
//! attempt for what it is, and says when it does not know what is stored.

use std::thread;

use emulator::sqs::FakeSqs;
use harness::TestApp;
use harness::fake_s3::FakeS3;
use harness::fault_proxy::{AwsService, Fault, FaultProxy, Order, Plan, Rule};

use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy};
use crate::support::key_snapshot;
use crate::support::operator::{CommandOutput, Operator};

/// A command with a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Create,
    Import,
    /// Its first write: the new key.
    Rotate,
    /// Its second write: the end of the old key.
    RotateOld,
    Revoke,
    /// The customer of a file.
    ImportCustomer,
}

/// The line of the imported file.
const CUSTOMER: &str =
    r#"{"customerId":"ada","customerData":{"city":"Bern"},"updatedAt":"2026-11-20T00:00:00Z"}"#;

const WRITERS: [Writer; 6] = [
    Writer::Create,
    Writer::Import,
    Writer::Rotate,
    Writer::RotateOld,
    Writer::Revoke,
    Writer::ImportCustomer,
];

impl Writer {
    fn operation(self) -> &'static str {
        match self {
            Self::Create | Self::Import | Self::Rotate => "PutItem",
            Self::RotateOld | Self::Revoke | Self::ImportCustomer => "UpdateItem",
        }
    }

    /// Runs the command in a stack whose only key is this one.
    fn run(self, operator: &Operator, id: &str) -> CommandOutput {
        match self {
            Self::Create => operator.run_keys_create("new", &[]),
            Self::Import => {
                let import = ["keys", "import", "--account", "shop", "--name", "new"];
                operator.run_with(&import, &"k".repeat(40))
            }
            Self::Rotate | Self::RotateOld => operator.run(&["keys", "rotate", id]),
            Self::Revoke => operator.run(&["keys", "revoke", id, "--yes"]),
            Self::ImportCustomer => {
                operator.file("c.ndjson", CUSTOMER);
                operator.run(&["import", "--account", "shop", "c.ndjson", "--json"])
            }
        }
    }

    /// Fails unless the table is as after a command that got each response.
    fn assert_done(self, operator: &Operator, output: &CommandOutput) {
        let keys = operator.list_keys();
        let states: Vec<_> = keys
            .iter()
            .map(|key| key["state"].as_str().unwrap())
            .collect();
        match self {
            Self::Create | Self::Import => {
                assert_eq!(states, ["active", "active"], "{self:?} {output:?}");
            }
            Self::Rotate | Self::RotateOld => {
                assert_eq!(states, ["active", "active"], "{self:?} {output:?}");
                assert!(keys[0]["expiresAt"].is_string(), "{keys:?}");
            }
            Self::Revoke => assert_eq!(states, ["revoked"], "{self:?} {output:?}"),
            Self::ImportCustomer => {
                assert_eq!(output.json()[0]["stored"], 1, "{output:?}");
                let show = ["customers", "show", "--account", "shop", "ada", "--json"];
                let shown = operator.run(&show).success().json();
                assert_eq!(shown[0]["city"], "Bern", "{shown:?}");
            }
        }
    }
}

/// An operator of a stack with one key, whose command gets faults.
struct Stack {
    app: TestApp,
    faulted: OperatorBehindProxy,
    id: String,
}

async fn stack(rule: Rule) -> Stack {
    let app = TestApp::start();
    let id = Operator::new(&app).create_key("old").id;
    let faulted = operator_behind_proxy(&app, Plan::new([rule])).await;
    Stack { app, faulted, id }
}

#[tokio::test(flavor = "multi_thread")]
async fn write_whose_response_is_lost_is_known_as_done() {
    let mut cases = WRITERS.map(|writer| (writer, Fault::ResetAfter)).to_vec();
    for fault in [
        Fault::ErrorAfter,
        Fault::CutBody,
        Fault::ResponseReplaced(""),
        Fault::ResponseReplaced("<html></html>"),
    ] {
        cases.push((Writer::Create, fault));
    }
    let mut stacks = Vec::new();
    for (writer, fault) in cases {
        let rule = fault.on_call(1).for_operation(writer.operation());
        stacks.push((writer, fault, stack(rule).await));
    }
    thread::scope(|scope| {
        for (writer, fault, Stack { app, faulted, id }) in &stacks {
            scope.spawn(move || {
                let output = writer.run(&faulted.operator, id);
                assert_eq!(output.code, Some(0), "{fault:?} {writer:?}: {output:?}");
                assert_eq!(faulted.proxy.counts().faulted, 1, "{fault:?} {writer:?}");
                writer.assert_done(&Operator::new(app), &output);
            });
        }
    });
}

/// The response to every attempt is a 500, and every attempt takes effect: a read tells.
#[tokio::test(flavor = "multi_thread")]
async fn new_key_that_no_attempt_acknowledged_is_found_by_a_read() {
    let rule = Fault::ErrorAfter.always().for_operation("PutItem");
    let Stack { app, faulted, id } = stack(rule).await;
    let output = Writer::Rotate.run(&faulted.operator, &id);
    assert_eq!(output.code, Some(0), "{output:?}");
    Writer::Rotate.assert_done(&Operator::new(&app), &output);
}

#[tokio::test(flavor = "multi_thread")]
async fn change_of_a_key_without_a_response_is_told_as_unknown() {
    for (writer, told) in [
        (Writer::RotateOld, " may not be set: revoke the old key"),
        (
            Writer::Revoke,
            "It is unknown whether the key table has the change.",
        ),
    ] {
        let rule = Fault::ResetBefore.always().for_operation("UpdateItem");
        let Stack {
            app: _app,
            faulted,
            id,
        } = stack(rule).await;
        let failed = writer.run(&faulted.operator, &id);
        assert_eq!(failed.code, Some(1), "{writer:?}: {failed:?}");
        assert!(failed.stderr.contains(told), "{writer:?}: {failed:?}");
    }
}

/// The SDK makes each call three times.
#[tokio::test(flavor = "multi_thread")]
async fn write_of_which_every_attempt_is_refused_is_told_as_not_done() {
    let told = [
        (Writer::Create, "Nothing was written."),
        (Writer::RotateOld, " could not be set: revoke the old key"),
        (Writer::Revoke, "DynamoDB throttles the calls."),
    ];
    for (writer, told) in told {
        let throttled = Fault::THROTTLED.always().for_operation(writer.operation());
        let Stack { app, faulted, id } = stack(throttled).await;
        let failed = writer.run(&faulted.operator, &id);
        assert_eq!(faulted.proxy.counts().faulted, 3, "{writer:?}");
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(failed.stderr.contains(told), "{writer:?}: {failed:?}");
        assert!(!failed.stderr.contains("unknown"), "{writer:?}: {failed:?}");
        let keys = Operator::new(&app).list_keys();
        let expected = usize::from(writer == Writer::RotateOld) + 1;
        assert_eq!(keys.len(), expected, "{writer:?}");
    }
}

/// One attempt that may have taken effect is enough, whichever it is.
#[tokio::test(flavor = "multi_thread")]
async fn write_of_which_one_attempt_has_no_response_is_told_as_unknown() {
    for lost in [1, 3] {
        let rules = [
            Fault::ResetBefore.on_call(lost).for_operation("PutItem"),
            Fault::THROTTLED.always().for_operation("PutItem"),
        ];
        let app = TestApp::start();
        let faulted = operator_behind_proxy(&app, Plan::new(rules)).await;
        let error = Writer::Create.run(&faulted.operator, "").error_message();
        assert_eq!(faulted.proxy.counts().faulted, 3, "{error}");
        let (_, told) = error
            .split_once(" It is unknown whether the key ")
            .expect(&error);
        let (id, _) = told.split_once(' ').unwrap();
        let revoke = format!("`cargo intake keys revoke {id}` revokes it.");
        assert!(error.ends_with(&revoke), "{error}");
    }
}

const REDRIVE: [&str; 3] = ["overflow", "redrive", "--yes"];

/// An operator whose calls to SQS pass the proxy.
fn redriving_operator(sqs: &FakeSqs, proxy: &FaultProxy) -> Operator {
    Operator::with_credentials("http://127.0.0.1:9")
        .with_queues(sqs)
        .variable("AWS_ENDPOINT_URL_SQS", &proxy.endpoint())
}

#[tokio::test(flavor = "multi_thread")]
async fn redrive_of_the_overflow_is_told_as_unknown_unless_sqs_refuses_every_attempt() {
    let sqs = FakeSqs::start().await.unwrap();
    sqs.set_counts([[0, 0, 0]], [[2, 0, 0]]);
    for (fault, is_unknown) in [
        (Fault::ErrorAfter, true),
        (Fault::ResetAfter, true),
        (Fault::Refused("AccessDeniedException"), false),
        (Fault::Refused("ThrottlingException"), false),
    ] {
        let rule = fault.always().for_operation("StartMessageMoveTask");
        let proxy = FaultProxy::start(&sqs.endpoint(), rule).await.unwrap();
        let error = redriving_operator(&sqs, &proxy)
            .run(&REDRIVE)
            .error_message();
        let told =
            "It is unknown whether SQS moves the messages: see `cargo intake overflow status`.";
        assert_eq!(error.ends_with(told), is_unknown, "{fault:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_table_is_said_to_be_written_only_after_a_response() {
    let s3 = FakeS3::start().await.unwrap();
    s3.faults().set(Fault::FORBIDDEN.always());
    let cases = [
        (
            Fault::Refused("AccessDeniedException"),
            "these credentials do not permit this. Use those of an operator. (AccessDenied: on purpose)",
        ),
        (Fault::THROTTLED, "Nothing was written."),
        (
            Fault::ResetBefore,
            "It is unknown whether the key table is written, and the key snapshot is not written",
        ),
    ];
    for (fault, told) in cases {
        let app = TestApp::start();
        let rule = fault.always().for_operation("PutItem");
        let faulted = operator_behind_proxy(&app, Plan::new([rule])).await;
        let operator = key_snapshot::operator(&app, &s3)
            .variable("AWS_ENDPOINT_URL_DYNAMODB", &faulted.proxy.endpoint());
        let failed = operator.run_keys_create("web", &[]);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(failed.stderr.contains(told), "{fault:?}: {failed:?}");
        assert!(
            !failed.stderr.contains("The key table is written"),
            "{failed:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_key_of_another_command_is_refused() {
    let app = TestApp::start();
    let import = ["keys", "import", "--account", "shop", "--name", "old"];
    let operator = Operator::new(&app);
    operator.run_with(&import, &"k".repeat(40)).success();
    let rule = Fault::ResetAfter.on_call(1).for_operation("PutItem");
    let faulted = operator_behind_proxy(&app, Plan::new([rule])).await;
    let error = faulted
        .operator
        .run_with(&import, &"k".repeat(40))
        .error_message();
    assert!(error.starts_with("This key already exists."), "{error}");
    assert_eq!(operator.list_keys().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_snapshot_whose_write_has_no_response_is_known_as_written() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    // The first command writes an object where there is none, and the second replaces it.
    for name in ["old", "new"] {
        let next_write = Order::next_calls(AwsService::S3, "PutObject", [Fault::ErrorAfter]);
        s3.faults().order(next_write);
        let created = key_snapshot::operator(&app, &s3).run_keys_create(name, &[]);
        assert_eq!(created.code, Some(0), "{created:?}");
    }
    assert_eq!(key_snapshot::keys(&s3).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_snapshot_is_said_not_to_be_written_only_when_s3_refuses_every_attempt() {
    let cases = [
        (403, "AccessDenied", "the key snapshot is not written: "),
        (
            500,
            "InternalError",
            "the key snapshot may not be written: it is unknown whether the object is written: ",
        ),
    ];
    for (status, code, told) in cases {
        let app = TestApp::start();
        let s3 = FakeS3::start().await.unwrap();
        let refused = Fault::refused_as(status, code).always();
        s3.faults().set(refused.for_operation("PutObject"));
        let failed = key_snapshot::operator(&app, &s3).run_keys_create("web", &[]);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(failed.stderr.contains(told), "{failed:?}");
    }
}
