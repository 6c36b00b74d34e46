//! No erasure of tables deletes while messages are queued, also those that SQS counts late.

use emulator::sqs::FakeSqs;
use harness::{RequestBuilder, TestApp};
use serde_json::json;

use crate::support::key_table::revoke_an_hour_ago;
use crate::support::operator::Operator;
use crate::support::requests::send;
use crate::support::running_command::RunningCommand;

const ERASE_ADA: [&str; 6] = ["customers", "erase", "--account", "shop", "ada", "--yes"];

/// An operator with credentials and queues. No process listens where DynamoDB would be.
fn operator(sqs: &FakeSqs) -> Operator {
    Operator::with_credentials("http://127.0.0.1:9").with_queues(sqs)
}

/// Why an erasure is refused.
fn refusal(overflow: u64, dead_letters: u64) -> String {
    format!(
        "The overflow queue has {overflow} message(s) and its dead-letter queue {dead_letters}. Their data would be stored \
         after the erasure. Wait until `cargo intake overflow status` counts none (`cargo intake overflow redrive` moves the \
         dead letters back). Or add --anyway, and erase again when the queues are empty."
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_of_a_customer_is_refused_while_messages_are_queued() {
    let sqs = FakeSqs::start().await.unwrap();
    let operator = operator(&sqs);
    // The counts of a queue are those of its waiting, in-flight and delayed messages.
    let assert_refused = |overflow: [u64; 3], dead_letters: [u64; 3]| {
        sqs.set_counts([overflow], [dead_letters]);
        let reason = refusal(overflow.iter().sum(), dead_letters.iter().sum());
        assert_eq!(operator.run(&ERASE_ADA).error_message(), reason);
    };
    assert_refused([1, 0, 0], [0, 0, 0]);
    assert_refused([0, 2, 0], [0, 0, 0]);
    assert_refused([0, 0, 3], [0, 0, 0]);
    assert_refused([0, 0, 0], [1, 2, 3]);
    // A command that is not refused asks for the tables, which this operator has not named.
    let goes_on = |arguments: &[&str]| {
        operator
            .run(arguments)
            .error_message()
            .contains("does not define REJECTED_SIGNALS_TABLE")
    };
    assert!(goes_on(&[&ERASE_ADA[..], &["--anyway"]].concat()));
    sqs.set_counts([[0, 0, 0]], [[0, 0, 0]]);
    assert!(goes_on(&ERASE_ADA));
}

/// On AWS, SQS may count a message a minute after it was sent.
#[tokio::test(flavor = "multi_thread")]
async fn erasure_of_a_deployed_stack_deletes_nothing_before_sqs_has_counted_every_message() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = app.key("shop").await;
    let customer = json!({"customerId": "ada", "customerData": {"city": "X"}});
    send(&app, &key, RequestBuilder::customer(customer)).await;
    let erasing = RunningCommand::start(&operator, &ERASE_ADA);
    let waiting = "Waiting 90 s: SQS may count messages late.";
    while erasing.note() != waiting {}
    assert_eq!(erasing.interrupt().code, Some(1));
    assert!(app.customer("shop", "ada").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_of_an_account_is_refused_while_messages_are_queued() {
    let app = TestApp::start();
    let sqs = FakeSqs::start().await.unwrap();
    let operator = Operator::new(&app).with_queues(&sqs);
    let key = app.key("shop").await;
    let batch = json!({"signals": [{"customerId": "ada", "eventType": "t"}]});
    let call = RequestBuilder::signals(batch).key(&key);
    assert_eq!(app.send(call).await.status, 200);
    let erase = ["accounts", "erase", "shop", "--yes"];
    sqs.set_counts([[1, 0, 0]], [[1, 0, 0]]);
    assert_eq!(operator.run(&erase).error_message(), refusal(1, 1));
    assert_eq!(operator.list_keys()[0]["state"], "active");

    revoke_an_hour_ago(&app, "shop").await;
    sqs.set_counts([[1, 0, 0]], [[0, 0, 0]]);
    let erased = operator.run(&[&erase[..], &["--anyway"]].concat());
    assert_eq!(erased.code, Some(1), "{erased:?}");
    let beginning = "Erased everything that is stored of the account shop, at 20";
    assert!(erased.stdout.starts_with(beginning), "{erased:?}");
    let counts = "Z: 0 profile(s), 1 signal(s), 0 rejected signal(s), 0 idempotency record(s), 0 key(s) revoked.\n";
    assert!(erased.stdout.ends_with(counts), "{erased:?}");
    assert_eq!(
        erased.stderr.lines().last(),
        Some(
            "error: 1 message(s) in the queues may restore erased data. Run the command again when `cargo intake \
             overflow status` counts none."
        )
    );
    assert_eq!(app.items("SignalsTable").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_without_the_variables_of_the_queues_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::with_tables(&app).with_key_snapshot(&app.s3);
    let key = app.key("shop").await;
    let batch = json!({"signals": [{"customerId": "ada", "eventType": "t"}]});
    let call = RequestBuilder::signals(batch).key(&key);
    assert_eq!(app.send(call).await.status, 200);
    let by_type = "signals erase --account shop --type t --since 1d --until 0s --yes";
    for erase in [
        "accounts erase shop --yes",
        "customers erase --account shop ada --yes",
        "customers erase --account shop ada --yes --anyway",
        by_type,
    ] {
        let words: Vec<&str> = erase.split(' ').collect();
        assert_eq!(
            operator.run(&words).error_message(),
            "The environment does not define OVERFLOW_QUEUE_URL. Give --stack NAME or --local, or set the variable."
        );
    }
    assert_eq!(app.items("SignalsTable").await.len(), 1);
}
