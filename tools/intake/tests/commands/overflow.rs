//! `overflow` counts and redrives messages.

use std::net::TcpListener;

use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE, arn};
use serde_json::{Value, json};

use crate::support::operator::Operator;

const STATUS: [&str; 2] = ["overflow", "status"];
const REDRIVE: [&str; 3] = ["overflow", "redrive", "--yes"];

/// The env file of a `cargo dev` whose DynamoDB listens there, without its queues.
fn local_variables(dynamodb: &TcpListener) -> String {
    let address = dynamodb.local_addr().unwrap();
    format!(
        "AWS_ENDPOINT_URL_DYNAMODB=http://{address}\nAWS_REGION=x\nAWS_ACCESS_KEY_ID=x\nAWS_SECRET_ACCESS_KEY=x\n"
    )
}

/// An operator with credentials and queues. No process listens where DynamoDB would be.
fn operator(sqs: &FakeSqs) -> Operator {
    without_queues().with_queues(sqs)
}

fn without_queues() -> Operator {
    Operator::with_credentials("http://127.0.0.1:9")
}

#[tokio::test(flavor = "multi_thread")]
async fn overflow_status_lists_the_counts_of_both_queues() {
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

#[tokio::test(flavor = "multi_thread")]
async fn queue_of_cargo_dev_is_that_of_its_file_and_never_of_the_environment() {
    let sqs = FakeSqs::start().await.unwrap();
    let elsewhere = FakeSqs::start().await.unwrap();
    sqs.set_counts([[2, 1, 0]], [[0, 0, 0]]);
    let operator = operator(&elsewhere);
    let queues = format!(
        "OVERFLOW_QUEUE_URL={OVERFLOW_QUEUE}\n\
         DEAD_LETTER_QUEUE_URL={DEAD_LETTER_QUEUE}\n\
         AWS_ENDPOINT_URL_SQS={}\n",
        sqs.endpoint()
    );
    let dynamodb = TcpListener::bind("127.0.0.1:0").unwrap();
    let variables = local_variables(&dynamodb) + &queues;
    operator.file("dev.env", &variables);
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
    let missing = "The environment does not define DEAD_LETTER_QUEUE_URL. Give --stack NAME or --local, or set the variable.";
    assert_eq!(one.run(&STATUS).error_message(), missing);
    let one = one.variable("DEAD_LETTER_QUEUE_URL", "");
    assert_eq!(one.run(&STATUS).error_message(), missing);
    let unknown = one.variable(
        "DEAD_LETTER_QUEUE_URL",
        "https://sqs.eu-central-1.amazonaws.com/000000000000/elsewhere",
    );
    assert_eq!(
        unknown.run(&STATUS).error_message(),
        "SQS refused the call: AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist. Check --stack, \
         the queue variables and AWS_REGION."
    );
    let unreachable = operator(&sqs).variable("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:9");
    let error = unreachable.run(&STATUS).error_message();
    assert!(
        error.starts_with(
            "cannot reach SQS. Check the region, the network, and endpoints and proxies if you set them."
        ),
        "{error}"
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
        format!("{question} Standard input is not a terminal: add --yes to confirm.")
    );
    let moves = || -> Vec<Value> {
        sqs.take_calls()
            .into_iter()
            .filter(|(name, _)| name == "StartMessageMoveTask")
            .map(|(_, body)| body)
            .collect()
    };
    assert_eq!(moves(), Vec::<Value>::new());

    let redriven = operator.run(&REDRIVE).success();
    let sentence =
        "SQS moves 3 message(s). `cargo intake overflow status` counts those that are left.\n";
    assert_eq!(redriven.stdout, sentence);
    let start = json!({"SourceArn": arn(DEAD_LETTER_QUEUE), "DestinationArn": arn(OVERFLOW_QUEUE)});
    assert_eq!(moves(), [start]);
    let redriven = operator.run(&[&REDRIVE[..], &["--json"]].concat());
    assert_eq!(redriven.success().json(), [json!({"messages": 3})]);
}
