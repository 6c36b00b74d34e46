//! `overflow`, and erasures while messages are queued.

use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE, arn};
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;

const STATUS: [&str; 2] = ["overflow", "status"];
const REDRIVE: [&str; 3] = ["overflow", "redrive", "--yes"];

/// The file of a `cargo dev` without a queue.
const LOCAL: &str = "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:9\nAWS_REGION=x\nAWS_ACCESS_KEY_ID=x\nAWS_SECRET_ACCESS_KEY=x\n";

/// An operator with credentials and queues. No process listens where DynamoDB would be.
fn operator(sqs: &FakeSqs) -> Operator {
    without_queues().with_queues(sqs)
}

fn without_queues() -> Operator {
    Operator::with_credentials("http://127.0.0.1:9")
}

#[tokio::test(flavor = "multi_thread")]
async fn status_lists_the_counts_of_both_queues() {
    let sqs = FakeSqs::start().await.unwrap();
    let operator = operator(&sqs);
    sqs.set_counts([[120, 3, 1]], [[2, 0, 0]]);
    let listed = operator.run(&STATUS).success();
    assert_eq!(
        listed.stdout,
        "QUEUE        WAITING  IN FLIGHT  DELAYED\noverflow     120      3          1\ndead-letter  2        0          0\n"
    );
    let listed = operator.run(&[&STATUS[..], &["--json"]].concat()).success();
    assert_eq!(
        listed.json(),
        [
            json!({"queue": "overflow", "waiting": 120, "inFlight": 3, "delayed": 1}),
            json!({"queue": "dead-letter", "waiting": 2, "inFlight": 0, "delayed": 0}),
        ]
    );
    assert_eq!(listed.stderr, "");
}

#[test]
fn stack_without_an_overflow_queue_is_no_error_of_status_but_of_redrive() {
    let operator = without_queues();
    operator.file("dev.env", LOCAL);
    let nowhere =
        "The environment defines no overflow queue: neither OVERFLOW_QUEUE_URL nor DEAD_LETTER_QUEUE_URL.".to_owned();
    let in_dev = "The stack of `cargo dev` runs without an overflow queue (--no-queue).".to_owned();
    for (stack, sentence) in [(&[][..], nowhere), (&["--local=dev.env"], in_dev)] {
        let status = operator.run(&[&STATUS[..], stack].concat()).success();
        assert_eq!(
            (status.stdout, status.stderr),
            (String::new(), format!("{sentence}\n"))
        );
        assert_eq!(
            operator
                .run(&[&REDRIVE[..], stack].concat())
                .error_message(),
            sentence
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_of_cargo_dev_is_that_of_its_file_and_never_of_the_environment() {
    let (sqs, elsewhere) = (
        FakeSqs::start().await.unwrap(),
        FakeSqs::start().await.unwrap(),
    );
    sqs.set_counts([[2, 1, 0]], [[0, 0, 0]]);
    let operator = operator(&elsewhere);
    let queues = [
        ("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE),
        ("DEAD_LETTER_QUEUE_URL", DEAD_LETTER_QUEUE),
    ];
    let queues = queues.map(|(name, url)| format!("{name}={url}\n")).concat();
    operator.file(
        "dev.env",
        &format!("{LOCAL}{queues}AWS_ENDPOINT_URL_SQS={}\n", sqs.endpoint()),
    );
    let listed = operator
        .run(&[&STATUS[..], &["--local=dev.env", "--json"]].concat())
        .success();
    assert_eq!(
        listed.json()[0],
        json!({"queue": "overflow", "waiting": 2, "inFlight": 1, "delayed": 0})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_queue_or_variable_is_an_error() {
    let sqs = FakeSqs::start().await.unwrap();
    let one = without_queues()
        .with_sqs(&sqs)
        .variable("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE);
    assert_eq!(
        one.run(&STATUS).error_message(),
        "The environment does not define DEAD_LETTER_QUEUE_URL. Give --stack NAME, or set the variables of both queues."
    );
    let unknown = one.variable(
        "DEAD_LETTER_QUEUE_URL",
        "https://sqs.eu-central-1.amazonaws.com/000000000000/elsewhere",
    );
    assert_eq!(
        unknown.run(&STATUS).error_message(),
        "SQS rejected the call: AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist. Check --stack, \
         the queue variables, AWS_REGION and the credentials."
    );
    let unreachable = operator(&sqs).variable("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:9");
    assert_eq!(
        unreachable.run(&STATUS).error_message(),
        "Cannot reach SQS. Check the network, and AWS_ENDPOINT_URL_SQS if it is set."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn redrive_has_sqs_move_the_dead_letters_back() {
    let sqs = FakeSqs::start().await.unwrap();
    let operator = operator(&sqs);
    sqs.set_counts([[5, 0, 0]], [[0, 0, 0]]);
    assert_eq!(
        operator.run(&REDRIVE).success().stdout,
        "The dead-letter queue has no messages.\n"
    );
    sqs.set_counts([[0, 0, 0]], [[2, 1, 0]]);
    let unconfirmed = operator.run(&REDRIVE[..2]).error_message();
    let question = "Move 3 message(s) of the dead-letter queue back to the overflow queue?";
    assert_eq!(
        unconfirmed,
        format!("{question} Standard input is no terminal: add --yes to confirm.")
    );
    let moves = || {
        sqs.take_calls()
            .into_iter()
            .filter(|(name, _)| name == "StartMessageMoveTask")
            .collect::<Vec<_>>()
    };
    assert_eq!(moves(), []);

    let redriven = operator.run(&REDRIVE).success();
    let sentence =
        "SQS moves 3 message(s). `cargo intake overflow status` counts those that are left.\n";
    assert_eq!(redriven.stdout, sentence);
    let start = json!({"SourceArn": arn(DEAD_LETTER_QUEUE), "DestinationArn": arn(OVERFLOW_QUEUE)});
    assert_eq!(moves(), [("StartMessageMoveTask".to_owned(), start)]);
    assert_eq!(
        operator
            .run(&[&REDRIVE[..], &["--json"]].concat())
            .success()
            .json(),
        [json!({"messages": 3})]
    );
}

/// Why an erasure is refused.
fn refusal(overflow: u64, dead_letters: u64) -> String {
    format!(
        "The overflow queue has {overflow} message(s) and its dead-letter queue {dead_letters}: their signals would be stored \
         after the erasure. Wait until `cargo intake overflow status` counts none (`cargo intake overflow redrive` moves the \
         dead letters back), or add --anyway, and erase again when the queues are empty."
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_of_a_customer_is_refused_while_messages_are_queued() {
    let sqs = FakeSqs::start().await.unwrap();
    let operator = operator(&sqs);
    let erase = ["customers", "erase", "--account", "shop", "ada", "--yes"];
    for (overflow, dead_letters, sentence) in [
        ([1, 0, 0], [0, 0, 0], refusal(1, 0)),
        ([0, 2, 0], [0, 0, 0], refusal(2, 0)),
        ([0, 0, 3], [0, 0, 0], refusal(3, 0)),
        ([0, 0, 0], [1, 2, 3], refusal(0, 6)),
    ] {
        sqs.set_counts([overflow], [dead_letters]);
        assert_eq!(operator.run(&erase).error_message(), sentence);
    }
    // Only then does it ask for the tables, which this operator has not named.
    let goes_on = |arguments: &[&str]| {
        operator
            .run(arguments)
            .error_message()
            .contains("does not define CUSTOMERS_TABLE")
    };
    assert!(goes_on(&[&erase[..], &["--anyway"]].concat()));
    sqs.set_counts([[0, 0, 0]], [[0, 0, 0]]);
    assert!(goes_on(&erase));
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_of_a_customer_fails_when_messages_are_queued_while_it_waits() {
    let (app, sqs) = (TestApp::start(), FakeSqs::start().await.unwrap());
    let operator = Operator::of(&app).with_queues(&sqs);
    let update =
        RequestBuilder::customer(json!({"customerId": "ada", "customerData": {"city": "X"}}));
    assert_eq!(
        app.send(update.key(&app.key("shop").await)).await.status,
        200
    );
    sqs.set_counts([[0, 0, 0], [1, 0, 0]], [[0, 0, 0]]);
    let erase = ["customers", "erase", "--account", "shop", "ada", "--yes"];
    let queued = operator.run(&erase);
    assert_eq!(
        (queued.code, queued.stderr.lines().last()),
        (
            Some(1),
            Some(
                format!(
                    "error: What is stored is erased, but requests that came before were deferred: {}",
                    refusal(1, 0)
                )
                .as_str()
            )
        )
    );
    assert!(
        queued
            .stdout
            .ends_with("Z: 1 profile(s), 0 signal(s), 0 rejected signal(s).\n"),
        "{}",
        queued.stdout
    );
    assert!(app.customer("shop", "ada").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_of_an_account_is_refused_while_messages_are_queued() {
    let (app, sqs) = (TestApp::start(), FakeSqs::start().await.unwrap());
    let operator = Operator::of(&app).with_queues(&sqs);
    let signal =
        RequestBuilder::signals(json!({"signals": [{"customerId": "ada", "eventType": "t"}]}));
    assert_eq!(
        app.send(signal.key(&app.key("shop").await)).await.status,
        200
    );
    let erase = ["accounts", "erase", "shop", "--yes"];
    sqs.set_counts([[1, 0, 0]], [[1, 0, 0]]);
    assert_eq!(operator.run(&erase).error_message(), refusal(1, 1));
    let states = || operator.run(&["keys", "list", "--json"]).success().json()[0]["state"].clone();
    assert_eq!(states(), "active");

    // Requests that are still accepted while the command waits for the functions may be queued.
    crate::accounts::revoke_an_hour_ago(&app, "shop").await;
    sqs.set_counts([[0, 0, 0], [1, 0, 0]], [[0, 0, 0]]);
    let refused = operator.run(&erase);
    assert_eq!(
        (refused.code, refused.stderr.lines().last()),
        (
            Some(1),
            Some(
                format!(
                    "error: The keys are revoked, and nothing is deleted: {}",
                    refusal(1, 0)
                )
                .as_str()
            )
        )
    );
    assert_eq!(
        (app.items("SignalsTable").await.len(), states()),
        (1, json!("revoked"))
    );

    operator
        .run(&[&erase[..], &["--anyway"]].concat())
        .success();
    assert_eq!(app.items("SignalsTable").await.len(), 0);
}
